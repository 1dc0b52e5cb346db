"""`planted export`."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any

import typer

from planted.cli._common import DONE, Force, Json, Quiet, Seed, check_file, known, print_json, read_model
from planted.names import EXPORTS, count_of

# Inputs and outputs whose names are printed.
_NAMES = 24


def export(
    model: Annotated[Path, typer.Argument(help="Network written by 'planted fit --out' or 'planted read --out'.")],
    to: Annotated[str, typer.Option(help=f"One of {', '.join(EXPORTS)}.")] = "onnx",
    out: Annotated[Path | None, typer.Option(help="File to write; named after the network if omitted.")] = None,
    float64: Annotated[bool, typer.Option("--float64", help="Write ONNX or torch in double precision.")] = False,
    simplify: Annotated[bool, typer.Option("--simplify", help="Drop dead neurons and merge equal ones first.")] = False,
    force: Force = False,
    seed: Seed = 0,
    quiet: Quiet = False,
    as_json: Json = False,
) -> int:
    """Write a network for another library: ONNX, a torch module (saved by torch.save), or scikit-learn (joblib).

    Of labels these give log-odds, or the probability of the second class; what goes in and what comes out, in order, is
    printed. A shared filter is written as a network of one neuron a patch.

    Example: planted export network --to onnx --out model.onnx
    """
    known("format", to, tuple(EXPORTS))
    if not model.is_file():
        raise ValueError(f"no model file at {model}")
    target = model.with_suffix(EXPORTS[to]) if out is None else out
    check_file(target, to, inputs=(model,), force=force)

    from planted.networks import ConvNetwork, export_network

    saved = read_model(model)
    network = saved.network.to_network() if isinstance(saved.network, ConvNetwork) else saved.network
    if simplify:
        network = network.simplify()
    export_network(network, target, to, "float64" if float64 else "float32")
    if as_json:
        names = None if saved.signature is None else list(saved.signature.inputs)
        flow = {"inputs": names, "outputs": saved.output_names or None}
        print_json({"format": to, "file": str(target), "n_hidden": network.n_hidden, **flow})
    else:
        what = count_of(network.n_hidden, "neuron") if network.n_hidden else "linear function"
        typer.echo("\n".join([f"{what} written to {target}", *_flow(saved)]))
    return DONE


def _flow(saved: Any) -> list[str]:
    """What a model of a file takes and gives, in words: nothing of a network that was saved without names.

    >>> from planted import Network
    >>> from planted.estimators import SavedModel
    >>> from planted.networks import Signature
    >>> _flow(SavedModel(Network([[1.0, 2.0]], [3.0]), Signature(("age", "pay"), ("price",))))
    ['inputs: age, pay', 'output: price']
    """
    signature = saved.signature
    if signature is None:
        return []
    taken = f"inputs: {_listed(list(signature.inputs))}"
    if signature.patch is not None:
        k = getattr(saved.network, "n_patches", None) or len(signature.inputs) // math.prod(signature.patch)
        size = count_of(len(signature.inputs) // k, "number")
        taken = f"inputs: {count_of(k, 'patch', 'patches')} of {size}, one patch after another"
    given = saved.output_names
    lines = [taken, f"output{'s' * (len(given) > 1)}: {_listed(given)}"]
    if signature.link == "logit":
        lines.append(f"probabilities: {'the softmax of the outputs' if len(given) > 1 else '1 / (1 + exp(−output))'}")
    return lines


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - _NAMES} more (--json has all)" if len(names) > _NAMES else ""
    return ", ".join(names[:_NAMES]) + more
