"""What a user waits for: cross-validation in two processes beside one, and many inputs beside an MLP.

python benchmarks/bench_front.py [cv] [known] [wide] [tanh] [sigmoid]
python benchmarks/bench_front.py unknown [first seed] [activation …]

`cv`: five folds by `cross_val_score` of the default estimator, which knows nothing, each way in a process of its own,
so that imports and compilations count: n_jobs=2 over serial by the clock, and in work of the processors (two free cores
are no slower where that is below two). `known`: the same with everything known, where a fit takes less than an import.
`wide`: 5,000 × 500, three ReLU neurons with and without noise: seconds by the clock and of the processor with
everything known, with the number of neurons known and with nothing known, beside scikit-learn's MLP of 100 neurons on
the same rows. `tanh`, `sigmoid`: the same for three such neurons. `unknown`: those with nothing known alone, and what
was chosen, for activations and a seed.
"""

import resource
import subprocess
import sys
import time
import warnings

from sklearn.neural_network import MLPRegressor

from planted import PlantedRegressor, datasets, match

FOLDS = """
import sys, time, warnings
warnings.simplefilter("ignore")
began = time.perf_counter()
from sklearn.model_selection import cross_val_score
from planted import PlantedRegressor, datasets
data = datasets.make_planted(5000, 10, 5, output="mixed", noise=0.1, random_state=0)
known = dict(n_hidden=5, activation="relu", fit_bias=True, fit_intercept=True) if sys.argv[2] == "everything" else {}
est = PlantedRegressor(random_state=0, **known)
scores = cross_val_score(est, data.X, data.y, cv=5, n_jobs=int(sys.argv[1]))
print(time.perf_counter() - began, scores.mean())
"""


def cv(what="nothing"):
    seconds, work = {1: [], 2: []}, {1: [], 2: []}
    for jobs in (1, 2, 2, 1):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [sys.executable, "-c", FOLDS, str(jobs), what]
        out = subprocess.run(command, capture_output=True, text=True, check=True)
        spent, score = (float(word) for word in out.stdout.split())
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds[jobs].append(spent)
        work[jobs].append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        used = f"{spent:.1f} s, {work[jobs][-1]:.1f} s of the processors"
        print(f"five folds of 5,000 × 10, {what} known, n_jobs={jobs}: {used}, R² {score:.4f}", flush=True)
    clock, total = (min(times[2]) / min(times[1]) for times in (seconds, work))
    print(f"n_jobs=2 over serial: {clock:.2f} by the clock, {total:.2f} of the processors", flush=True)


def wide(activation="relu", first=0, only=None):
    for noise in (0.0, 0.1):
        data = datasets.make_planted(
            5000, 500, 3, activation=activation, weights="gaussian", output="mixed", noise=noise,
            random_state=first + int(10 * noise),
        )  # fmt: skip
        models = {
            "known": PlantedRegressor(3, activation=activation, fit_bias=False, fit_intercept=False, random_state=0),
            "3 neurons": PlantedRegressor(3, random_state=0),
            "nothing known": PlantedRegressor(random_state=0),
            "MLP": MLPRegressor(random_state=0),
        }
        for name in (only,) if only else models:
            model, began, used = models[name], time.perf_counter(), time.process_time()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model.fit(data.X, data.y)
            spent = f"{time.perf_counter() - began:.1f} s, {time.process_time() - used:.1f} s of the processor"
            print(f"5,000 × 500, 3 {activation} neurons, noise {noise:g}: {name} {spent}", flush=True)
            if name != "MLP":
                same = model.network_.activation == data.teacher.activation and model.n_hidden_ == 3
                distance = match(model.network_, data.teacher) if same else model.network_
                print(f"    {model.result_.status}, {distance}", flush=True)


def unknown(arguments):
    first, kinds = int(arguments[0]) if arguments else 0, arguments[1:] or ("relu", "tanh", "sigmoid")
    for activation in kinds:
        wide(activation, first, "nothing known")


if __name__ == "__main__":
    if sys.argv[1:2] == ["unknown"]:
        unknown(sys.argv[2:])
        sys.exit()
    tasks = {"cv": cv, "known": lambda: cv("everything"), "wide": wide}
    tasks |= {name: lambda name=name: wide(name) for name in ("tanh", "sigmoid")}
    for task in sys.argv[1:] or tasks:
        tasks[task]()
