"""What `python -m views` runs: the app, and the page that its browsers get first."""

from pathlib import Path

import streamlit as st

from views.first_page import routes

app = st.App(str(Path(__file__).parents[1] / "app.py"), routes=routes())
