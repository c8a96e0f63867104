"""What `python -m views` runs: the app, and the page that its browsers get first."""

import streamlit as st

from views.first_page import routes

app = st.App("app.py", routes=routes())
