"""The service over HTTP: FastAPI on top of `vedette.service`, which knows nothing of it."""
