"""Any table, everything unknown: how often the answer is true, and whether it ever states what is not so.

Every kind of `tables.py` is fitted by `PlantedRegressor(random_state=seed)`, nothing else given, and its answer judged
by `answers.py`. Scikit-learn's linear regression, boosting and MLPs are fitted to the same rows, and all are
scored by R² on rows that no fit has used. Real tables are split several times, each time with other random numbers,
and scored by what is left out of all splits together: a quarter of twenty rows scores by chance, and a quarter of 569,
scikit-learn's breast cancer, to a few hundredths.

python benchmarks/bench_tables.py [--seeds 3] [--first 0] [--json FILE] [--no-peers] [KIND …]

A KIND is a part of a name: `tanh`, `noise`, `diabetes`. One line a kind; a kind counts as true if it is for every seed.
FILE gets a line for every table, and tables that it holds already are not fitted again, so that a run goes on where it
was stopped.
"""

import argparse
import json
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression
from sklearn.metrics import r2_score
from sklearn.multioutput import MultiOutputRegressor
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import answers
import tables
from planted import PlantedRegressor

PLANTED = (tables.RECOVERED, tables.ESTIMATED)


def perceptron(width, seed):
    """An MLP on standardised inputs and targets."""
    mlp = MLPRegressor(hidden_layer_sizes=(width,), max_iter=1000, random_state=seed)
    return TransformedTargetRegressor(make_pipeline(StandardScaler(), mlp), transformer=StandardScaler())


def peers(table, width, seed):
    """Scikit-learn's regressors, fitted."""
    boosting = HistGradientBoostingRegressor(random_state=seed)
    models = {
        "linear": LinearRegression(),
        "boosting": MultiOutputRegressor(boosting) if table.y.ndim > 1 else boosting,
        "MLP": perceptron(100, seed),
        "MLP, same width": perceptron(max(width, 1), seed),
    }
    return {name: model.fit(table.X, table.y) for name, model in models.items()}


def run(name, seed, with_peers=True):
    """One table, one answer: its judgement and the scores."""
    kind = tables.KINDS[name]
    predictions, targets, seconds = {}, [], []
    for split in range(kind.splits):
        table = kind.draw(np.random.default_rng([seed, *[split] * (split > 0), *name.encode()]))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            began = time.perf_counter()
            models = {"planted": PlantedRegressor(random_state=seed + split).fit(table.X, table.y)}
            seconds.append(time.perf_counter() - began)
            if with_peers or kind.answer == tables.REAL:
                models |= peers(table, models["planted"].network_.n_hidden, seed + split)
        targets.append(table.fresh_y)
        for key, model in models.items():
            predictions.setdefault(key, []).append(model.predict(table.fresh))
        if split == 0:
            first, estimator = table, models["planted"]
    truth = np.concatenate(targets)
    scores = {key: r2_score(truth, np.concatenate(parts)) for key, parts in predictions.items()}
    verdict, why = answers.judged(kind, first, estimator, scores)
    return {
        "kind": name, "seed": seed, "answer": kind.answer, "judged": verdict, "why": why, "scores": scores,
        "seconds": float(np.median(seconds)), "network": repr(estimator.network_), "said": answers.words(estimator),
    }  # fmt: skip


def line(name, records):
    """What a kind came to, in one line."""
    counts = [sum(r["judged"] == verdict for r in records) for verdict in ("true", "false")]
    scores = {key: np.mean([r["scores"][key] for r in records]) for key in records[0]["scores"]}
    shown = "  ".join(f"{key} {value:.3f}" for key, value in scores.items())
    seconds = np.median([r["seconds"] for r in records])
    flag = "FALSE" if counts[1] else "true " if counts[0] == len(records) else "     "
    return f"{flag} {counts[0]}/{len(records)}  {name:<34} {seconds:5.1f} s  {shown}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="*", metavar="KIND")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--json", type=Path, default=None, help="a file that gets a line for every table")
    parser.add_argument("--no-peers", action="store_true", help="leave out scikit-learn's regressors")
    given = parser.parse_args()
    chosen = [name for name in tables.KINDS if not given.kinds or any(part in name for part in given.kinds)]
    lines = given.json.read_text().splitlines() if given.json is not None and given.json.exists() else []
    done = {(record["kind"], record["seed"]): record for record in map(json.loads, lines)}

    def recorded(name, seed):
        if (name, seed) not in done:
            done[name, seed] = run(name, seed, not given.no_peers)
            if given.json is not None:
                with given.json.open("a") as file:
                    file.write(json.dumps(done[name, seed]) + "\n")
        return done[name, seed]

    true = wrong = behind = 0
    for name in chosen:
        records = [recorded(name, seed) for seed in range(given.first, given.first + given.seeds)]
        print(line(name, records), flush=True)
        for record in records:
            ours, others = record["scores"]["planted"], [v for k, v in record["scores"].items() if k != "planted"]
            if record["answer"] in PLANTED and others and ours < max(others):
                behind += 1
                print(f"      seed {record['seed']}: a peer has R² {max(others):.5f}, planted {ours:.5f}", flush=True)
            if record["judged"] != "true":
                print(f"      seed {record['seed']}: {record['network']}: {record['why']}", flush=True)
        true += all(r["judged"] == "true" for r in records)
        wrong += sum(r["judged"] == "false" for r in records)
    print(f"{len(chosen)} kinds, {given.seeds} tables each: true answers in {true} kinds, {wrong} false statements, "
          f"a peer predicts a planted table better {behind} times")  # fmt: skip
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
