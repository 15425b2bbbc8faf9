"""The service: subscribe, publish, be notified. It has no HTTP: `vedette.service.http` is built on top of it."""
