"""The operator `model`: the output of a trained model (ONNX) for an event.

    model('fraud', ?score) and ?score > 0.9

    [model]
    threads = 1                             # that one call may use
    time_limit = 10                         # seconds for a batch

    [model.fraud]
    file = "fraud.onnx"
    inputs = ["amount", "hour"]             # attributes, in the order of the features; or ...
    inputs = { x = ["amount", "hour"], shop = "shop.id" }   # ... those of each input, where the model has several
    output = "probabilities"                # without it the first
    column = 1                              # of an output that has several for each event, counted from 0

An event that lacks one of the attributes is unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from vedette.errors import FileError
from vedette.operators.operator import Operator, operator
from vedette.operators.shipped.onnx_models import ModelFile
from vedette.operators.shipped.table_settings import OperatorSettings, configured, needs


def operators(settings: Mapping[str, Any]) -> Iterable[Operator]:
    """`model` with the files of the settings only."""
    table = OperatorSettings(settings, "model")
    threads = table.whole("threads", 1) or 1
    time_limit = table.seconds("time_limit", 10.0)
    models = {each.name.removeprefix("model."): _network(each, threads) for each in table.tables()}
    table.end()

    def check(given: tuple[Any, ...]) -> None:
        needs("onnxruntime", "model")
        models[configured(given[0], "model", "model", models)].load()

    reads = tuple(dict.fromkeys(path for each in models.values() for path in each.reads))

    @operator("model", outputs=1, batch=True, reads=reads, check=check, time_limit=time_limit)
    def model(events: Any, name: str) -> Any:
        return models[name].answers(events)

    return [model]


def _network(settings: OperatorSettings, threads: int) -> ModelFile:
    path = settings.path(settings.text("file"))
    if not path.exists():
        raise FileError(f"there is no file {path}\nHint: `file` of [{settings.name}] names it")
    given = settings.value("inputs")
    inputs = given if isinstance(given, Mapping) else {None: given}
    features = {name: (paths,) if isinstance(paths, str) else paths for name, paths in inputs.items()}
    for paths in features.values():
        if not isinstance(paths, list | tuple) or not paths or not all(isinstance(each, str) for each in paths):
            raise settings.wrong("inputs", "a list of attributes, or a table of such lists by the model's inputs")
    output = settings.text("output") if settings.value("output") is not None else None
    found = ModelFile(settings.name, path, features, output, settings.whole("column", None, least=0), threads)
    settings.end()
    return found
