"""ui_app.py as `python -m views` runs the app: behind the page that browsers get first."""

import streamlit as st
from starlette.middleware import Middleware

from views.first_page import FromMemory, routes

app = st.App("ui_app.py", routes=routes(), middleware=[Middleware(FromMemory)])
