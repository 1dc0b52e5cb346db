"""What reading a model must show: trained networks, large planted ones, other models, queries and seconds.

Run as `python benchmarks/bench_read.py trained [SEED]`, `large [SEED]`, `other [SEED [float32]]`, `planted [SEED]`,
`pairs [SEED]` (float32 neurons that are nearly the same), `strengths [SEED]` (those of ten thousand to one) or
`single [SEED [PART]]`, of which part 0 is planted networks and part 1 trained ones; an activation as PART names the
planted ones of one kind.
"""

import sys
import time
import warnings
from collections import Counter

import numpy as np
from scipy import special
from sklearn import datasets, ensemble, gaussian_process, kernel_ridge, neighbors, svm, tree
from sklearn.linear_model import LinearRegression
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, SplineTransformer, StandardScaler

import planted
from planted import Network, match
from planted.reading import ModelError

LOAD = {
    "diabetes": datasets.load_diabetes,
    "wine": datasets.load_wine,
    "cancer": datasets.load_breast_cancer,
    "digits": datasets.load_digits,
    "iris": datasets.load_iris,
}
# (data, kind, neurons, solver)
CELLS = [
    ("diabetes", MLPRegressor, 8, "adam"),
    ("diabetes", MLPRegressor, 32, "lbfgs"),
    ("diabetes", MLPRegressor, 100, "adam"),
    ("wine", MLPRegressor, 16, "lbfgs"),
    ("wine", MLPClassifier, 24, "adam"),
    ("wine", MLPClassifier, 100, "lbfgs"),
    ("cancer", MLPRegressor, 100, "adam"),
    ("cancer", MLPClassifier, 32, "adam"),
    ("digits", MLPClassifier, 64, "adam"),
    ("digits", MLPRegressor, 32, "lbfgs"),
    ("iris", MLPClassifier, 16, "lbfgs"),
    ("iris", MLPRegressor, 50, "adam"),
]


def train(name, kind, k, solver, activation, seed):
    X, y = LOAD[name](return_X_y=True)
    X = StandardScaler().fit_transform(X)
    if kind is MLPRegressor:
        y = (y - y.mean()) / y.std()
    model = kind(hidden_layer_sizes=(k,), activation=activation, solver=solver, max_iter=200, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y), X


def parameters(network):
    return sum(array.size for array in network.arrays().values())


def median_and_worst(values):
    return f"median {np.median(values):.3g}, worst {np.max(values):.3g}"


def trained(seed=1000, seeds=2):
    """Networks that scikit-learn trained on its own data sets."""
    rows = []
    for name, kind, k, solver in CELLS:
        for activation in ("relu", "tanh", "logistic"):
            for s in range(seeds):
                model, X = train(name, kind, k, solver, activation, seed + s)
                truth = Network.from_sklearn(model)
                began = time.process_time()
                reading = planted.read(model, random_state=seed + s)
                seconds = time.process_time() - began
                fresh = np.random.default_rng(seed + 7).standard_normal((2000, X.shape[1]))
                fresh[1000:] *= 30
                ours, theirs = reading.network.predict(fresh), truth.predict(fresh)
                halves = (slice(0, 1000), slice(1000, None))
                gap = max(np.abs(ours[h] - theirs[h]).max() / theirs[h].std(axis=0).max() for h in halves)
                # What weights there are to find: the trained network without neurons that do nothing.
                small = truth.simplify()
                same = reading.network.activation.name == truth.activation.name
                error = match(reading.network, small).weight_error if same else np.inf
                ratio = reading.queries / parameters(truth)
                rows.append((activation, (X.shape[1], k), gap, error, ratio, seconds, reading.status))
                print(
                    f"{name:9s} {kind.__name__[3:]:10s} {solver:5s} {X.shape[1]:3d} inputs {k:4d} {activation:8s} "
                    f"{reading.status}: {reading.network.n_hidden} neurons, fidelity {gap:.1e}, weights {error:.1e}, "
                    f"{rows[-1][4]:.2f} queries a parameter, {seconds:.2f} CPU s",
                    flush=True,
                )
    print(f"{len(rows)} models: {dict(Counter(row[-1] for row in rows))}")
    print(
        f"fidelity ≤ 1e-8: {sum(row[2] <= 1e-8 for row in rows)}, weights ≤ 1e-6: {sum(row[3] <= 1e-6 for row in rows)}"
    )
    for activation in ("relu", "tanh", "logistic"):
        part = [row for row in rows if row[0] == activation]
        print(f"{activation}: queries a parameter {median_and_worst([row[4] for row in part])}")
    smooth = [row[4] for row in rows if row[0] != "relu"]
    print(f"tanh and logistic together: queries a parameter {median_and_worst(smooth)}")
    wide, default = ([row[5] for row in rows if test(row[1])] for test in (lambda s: s[1] == 100, (30, 100).__eq__))
    print(
        f"CPU seconds with the model's own: 100 neurons {median_and_worst(wide)}, of 30 inputs "
        f"{median_and_worst(default)}; all {median_and_worst([row[5] for row in rows])}"
    )


def large(seed=1000):
    """Planted ReLU networks of the sizes that the literature on exact reading reports."""
    for k in (32, 128):
        rng = np.random.default_rng(seed + k)
        weights, bias, output = rng.standard_normal((k, 784)) / 28, rng.standard_normal(k), rng.standard_normal(k)
        net = Network(weights, output, bias=bias)
        began = time.perf_counter()
        reading = planted.read(lambda X: np.maximum(X @ weights.T + bias, 0) @ output, 784, random_state=seed)  # noqa: B023
        seconds = time.perf_counter() - began
        error = match(reading.network, net)
        print(
            f"784-{k}-1: {reading.status}, {reading.queries} queries (2^{np.log2(reading.queries):.1f}, "
            f"{reading.queries / parameters(net):.2f} a parameter), fidelity {reading.fidelity:.1e}, "
            f"weight error {error.weight_error:.1e}, {seconds:.1f} s"
        )


def other_models(seed):
    """Forty models that are no network with one hidden layer, by name."""
    rng = np.random.default_rng(seed)
    X, d = rng.standard_normal((400, 6)), 6
    y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.standard_normal(400)
    labels = (y > y.mean()).astype(int)
    deep = [(8, 8), (16, 8), (4, 4, 4), (32, 16)]
    made = {
        f"{act} layers {sizes}": MLPRegressor(hidden_layer_sizes=sizes, activation=act, max_iter=60, random_state=seed)
        for sizes in deep
        for act in ("relu", "tanh", "logistic")
    }
    made |= {
        "tree": tree.DecisionTreeRegressor(random_state=seed),
        "shallow tree": tree.DecisionTreeRegressor(max_depth=3, random_state=seed),
        "forest": ensemble.RandomForestRegressor(10, random_state=seed),
        "extra trees": ensemble.ExtraTreesRegressor(5, random_state=seed),
        "boosting": ensemble.GradientBoostingRegressor(n_estimators=20, random_state=seed),
        "histogram boosting": ensemble.HistGradientBoostingRegressor(max_iter=20, random_state=seed),
        "boosted labels": ensemble.GradientBoostingClassifier(n_estimators=10, random_state=seed),
        "SVR": svm.SVR(),
        "SVR, cubic": svm.SVR(kernel="poly"),
        "SVC": svm.SVC(),
        "kernel ridge": kernel_ridge.KernelRidge(kernel="rbf"),
        "kernel ridge, laplacian": kernel_ridge.KernelRidge(kernel="laplacian"),
        "Gaussian process": gaussian_process.GaussianProcessRegressor(random_state=seed),
        "neighbours": neighbors.KNeighborsRegressor(),
        "weighted neighbours": neighbors.KNeighborsRegressor(weights="distance"),
        "cubic polynomial": make_pipeline(PolynomialFeatures(3), LinearRegression()),
        "splines": make_pipeline(SplineTransformer(extrapolation="linear"), LinearRegression()),
        "squares before a network": make_pipeline(
            PolynomialFeatures(2), MLPRegressor(hidden_layer_sizes=(8,), max_iter=60, random_state=seed)
        ),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for model in made.values():
            model.fit(X, labels if hasattr(model, "predict_proba") or isinstance(model, svm.SVC) else y)
    W, b, a = rng.standard_normal((8, d)), rng.standard_normal(8), rng.standard_normal(8)
    relu = lambda X: np.maximum(X @ W.T + b, 0) @ a  # noqa: E731
    smooth = lambda X: np.tanh(X @ W.T + b) @ a  # noqa: E731
    noise = np.random.default_rng(seed + 1)
    functions = {
        "rounded to 3 digits": lambda X: np.round(relu(X), 3),
        "tanh rounded to 4 digits": lambda X: np.round(smooth(X), 4),
        "noisy": lambda X: relu(X) + 1e-3 * noise.standard_normal(len(X)),
        "product": lambda X: X[:, 0] * X[:, 1],
        "sine": lambda X: np.sin(X[:, 0] + X[:, 1]),
        "maximum of inputs": lambda X: X.max(axis=1),
        "norm": lambda X: np.linalg.norm(X, axis=1),
        "two networks multiplied": lambda X: relu(X) * smooth(X),
        "relu and tanh neurons": lambda X: relu(X) + smooth(X),
        "sigmoid of a network": lambda X: special.expit(relu(X)),
    }
    return {name: (model, None) for name, model in made.items()} | {name: (f, d) for name, f in functions.items()}


def other(seed=1000, precision="float64"):
    """Models that are not one-hidden-layer networks: how many are called recovered; as they are, or in float32."""
    counts = Counter()
    models = other_models(seed)
    for name, (model, d) in models.items():
        if precision == "float32":
            model, d = rounded_to_float32(model), 6
        began = time.process_time()
        try:
            reading = planted.read(model, d, random_state=seed)
            status, reason, queries = reading.status, reading.reason, reading.queries
        except ModelError as error:
            status, reason, queries = "refused", str(error), 0
        counts[status] += 1
        print(
            f"{name}: {status}, {queries} queries, {time.process_time() - began:.2f} CPU s: {reason[:110]}", flush=True
        )
    print(f"{len(models)} models: {dict(counts)}; called recovered: {counts['recovered']}")


def rounded_to_float32(model):
    ask = next((getattr(model, name) for name in ("decision_function", "predict") if hasattr(model, name)), model)
    return lambda X: np.asarray(ask(X.astype(np.float32).astype(np.float64)), np.float32)


def planted_networks(seed=1000):
    """Random networks of every activation that is read, with the right number of neurons or not."""
    for name in (
        "relu",
        "leaky_relu",
        "abs",
        "hard_tanh",
        "tanh",
        "sigmoid",
        "erf",
        "standard_erf",
        "softplus",
        "gelu",
        "silu",
    ):
        right, ratios = 0, []
        for s in range(10):
            rng = np.random.default_rng(seed + s)
            d, k = int(rng.integers(3, 12)), int(rng.integers(2, 20))
            net = Network(
                rng.standard_normal((k, d)), rng.standard_normal(k), name, bias=rng.standard_normal(k), intercept=0.5
            )
            reading = planted.read(net, random_state=s)
            right += reading.status == "recovered" and reading.network.n_hidden == k and reading.fidelity <= 1e-8
            ratios.append(reading.queries / parameters(net))
        print(f"{name}: {right} of 10 read, queries a parameter {median_and_worst(ratios)}", flush=True)


def single(seed=1000, part=None):
    """Float32 networks: planted ones (part 0), then those that scikit-learn trained, rounded to float32 (part 1).

    The ratio compares what was read with float32 itself: largest difference to the model at fresh points, near and 30
    times as far, over that of the true network in float64.
    """
    rows = []
    for name, phi in PHI_SINGLE.items():
        if part not in (0, None, name):
            continue
        for s in range(8):
            rng = np.random.default_rng(seed + s)
            d, k = int(rng.integers(3, 25)), int(rng.integers(4, 41))
            arrays = [rng.standard_normal(shape).astype(np.float32) for shape in ((k, d), k, k, 1)]
            arrays[0] *= np.float32(0.3 if s % 2 else 1.0)
            rows.append(read_single(name, phi, arrays, "planted", seed + s))
    for name, kind, k, solver in CELLS if part in (1, None) else ():
        for activation in ("relu", "tanh", "logistic"):
            if (activation, k) == ("relu", 100):
                continue  # a minute each
            model, _ = train(name, kind, k, solver, activation, seed)
            arrays = (model.coefs_[0].T, model.intercepts_[0], model.coefs_[1].T, model.intercepts_[1])
            if len(arrays[2]) == 1:
                arrays = (*arrays[:2], arrays[2][0], arrays[3])
            arrays = [np.asarray(array, np.float32) for array in arrays]
            own = {"logistic": "sigmoid"}.get(activation, activation)
            rows.append(read_single(own, PHI_SINGLE[own], arrays, f"trained on {name}", seed))
    print(f"{len(rows)} models: {dict(Counter(row[0] for row in rows))}; ≤ 1e-4: {sum(row[1] <= 1e-4 for row in rows)}")
    print(f"fidelity: {median_and_worst([row[1] for row in rows])}")
    print(f"queries a parameter: {median_and_worst([row[2] for row in rows])}")
    print(f"times the rounding of float32: {median_and_worst([row[3] for row in rows])}")


def pairs(seed=1000):
    """Two of six float32 ReLU neurons whose weights differ by `gap`: read as two, or what is said of it."""
    for gap in (1e-2, 1e-3, 1e-4, 1e-5, 1e-6):
        counts, ratios = Counter(), []
        for s in range(12):
            rng = np.random.default_rng(seed + s)
            W, b, a = rng.standard_normal((6, 6)), rng.standard_normal(6), rng.standard_normal(6)
            W[1], b[1] = W[0] + gap * rng.standard_normal(6), b[0] + gap * rng.standard_normal()
            arrays = [np.asarray(array, np.float32) for array in (W, b, a)]
            reading = planted.read(single_relu(*arrays), 6, random_state=seed + s)
            ratios.append(reading.queries / 55)
            outcome = f"read as {'two' if reading.network.n_hidden == 6 else 'one'}, {reading.status}"
            if outcome == "read as one, recovered":
                stated = float(reading.reason.split("differ by less than ")[1].split()[0])
                apart = np.linalg.norm(W[1] - W[0]) / np.linalg.norm(W[0])
                # How high a hat two neurons p, q leave, beside two equal halves of p + q.
                p, q = np.abs(a[:2])
                share = 4 * p * q / (p + q) ** 2 if a[0] * a[1] > 0 else 4 * min(p, q) / abs(p - q)
                outcome += (
                    ", below the resolution stated" if apart * share < stated else ", above the resolution stated"
                )
            counts[outcome] += 1
        print(f"gap {gap:g}: {dict(counts)}; queries a parameter {median_and_worst(ratios)}", flush=True)


def strengths(seed=1000):
    """Float32 ReLU networks of 4 to 13 neurons and inputs whose strengths go down to a ten thousandth."""
    counts, ratios = Counter(), []
    for s in range(20):
        rng = np.random.default_rng(seed + s)
        d, k = int(rng.integers(4, 14)), int(rng.integers(4, 14))
        W, b, a = rng.standard_normal((k, d)), rng.standard_normal(k), rng.choice([-1, 1], k) * np.geomspace(1, 1e-4, k)
        W /= np.linalg.norm(W, axis=1, keepdims=True)
        arrays = [np.asarray(array, np.float32) for array in (W, b, a)]
        reading = planted.read(single_relu(*arrays), d, random_state=seed + s)
        counts[f"{reading.status}, {'all' if reading.network.n_hidden == k else 'not all'} neurons"] += 1
        ratios.append(reading.queries / (k * (d + 2)))
    print(f"20 models: {dict(counts)}; queries a parameter {median_and_worst(ratios)}")


def single_relu(W, b, a):
    return lambda X: np.maximum(X.astype(np.float32) @ W.T + b, 0) @ a


PHI_SINGLE = {
    "relu": lambda z: np.maximum(z, np.float32(0)),
    "tanh": np.tanh,
    "sigmoid": special.expit,
    "standard_erf": special.erf,
    "softplus": lambda z: np.logaddexp(z, np.float32(0)),
    "gelu": lambda z: z * special.ndtr(z),
    "silu": lambda z: z * special.expit(z),
}


def read_single(name, phi, arrays, origin, seed):
    W, b, a, c = arrays
    c = c[0] if a.ndim == 1 else c
    began = time.process_time()
    reading = planted.read(lambda X: phi(X.astype(np.float32) @ W.T + b) @ a.T + c, W.shape[1], random_state=seed)
    seconds, ratio = time.process_time() - began, reading.queries / sum(array.size for array in arrays)
    exact = [np.asarray(array, np.float64) for array in (W, b, a, c)]
    worst = {"ours": 0.0, "rounding": 0.0}
    for size in (1.0, 30.0):
        X = (size * np.random.default_rng(seed + 7).standard_normal((2000, W.shape[1]))).astype(np.float32)
        theirs = np.asarray(phi(X @ W.T + b) @ a.T + c, np.float64)
        true = phi(X.astype(np.float64) @ exact[0].T + exact[1]) @ exact[2].T + exact[3]
        sd = theirs.std(axis=0).max()
        for key, values in (("ours", reading.network.predict(X)), ("rounding", true)):
            worst[key] = max(worst[key], np.abs(values - theirs).max() / sd)
    floor = worst["ours"] / worst["rounding"]
    print(
        f"{origin}, {name} {W.shape[1]}-{len(W)}-{len(np.atleast_2d(a))}: {reading.status}, {reading.network.n_hidden} "
        f"neurons, fidelity {reading.fidelity:.1e}, {floor:.2g} times the rounding of float32 "
        f"({worst['rounding']:.1e}), {ratio:.1f} queries a parameter, {seconds:.1f} CPU s",
        flush=True,
    )
    return reading.status, reading.fidelity, ratio, floor


COMMANDS = {
    "trained": trained,
    "large": large,
    "other": other,
    "planted": planted_networks,
    "single": single,
    "pairs": pairs,
    "strengths": strengths,
}


def test_small_network(benchmark):
    rng = np.random.default_rng(0)
    net = Network(rng.standard_normal((20, 10)), rng.standard_normal(20), bias=rng.standard_normal(20)).to_sklearn()
    benchmark.pedantic(planted.read, args=(net,), kwargs={"random_state": 0}, rounds=3)


if __name__ == "__main__":
    command, *numbers = sys.argv[1:] or ["trained"]
    COMMANDS[command](*(int(number) if number.isdigit() else number for number in numbers))
