"""ui_app.py as `python -m views` runs the app: behind the page that browsers get first."""

import streamlit as st

from views.first_page import routes

app = st.App("ui_app.py", routes=routes())
