"""What `python -m views` runs: the app, and the page that its browsers get first."""

from pathlib import Path

import streamlit as st
from starlette.middleware import Middleware

from views.first_page import FromMemory, routes

script = str(Path(__file__).parents[1] / "app.py")
app = st.App(script, routes=routes(), middleware=[Middleware(FromMemory)])
