"""The service: subscribe, publish, be told. No HTTP in here; `vedette.service.http` is on top."""
