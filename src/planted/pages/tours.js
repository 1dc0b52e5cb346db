/** The stories of five papers, a minute each. */
(() => {
  const { choose, readControls, restart, running, loadTrap, place, state } = Explorer;
  const SECONDS = 11;
  const set = (settings, seed) => { if (seed) state.seed = seed; choose({ rival: "", shift: 0, outputs: "ones", activation: "relu", shape: "orthonormal", begin: "random", speed: 1, ...settings }); readControls(); restart(); };
  const TOURS = [
    { name: "A loss without traps", paper: "Ge, Lee and Ma (2017)", steps: [
      ["Six perpendicular ReLU neurons made the data (diamonds). The student (discs) minimises the squared loss from near a bad place.", () => { choose({ loss: "squared", rival: "" }); loadTrap("six perpendicular", 0.05); }],
      ["It runs, and it stops. The loss is above zero, no direction leads down: a spurious minimum. More steps do not help.", () => { place("speed").value = 1.75; running(true); }],
      ["The spectrum of the Hessian below is positive throughout. This point is a trap, and certified as one.", () => { running(false); Explorer.settleAll(); }],
      ["Now the same start on G, a loss made from fourth-order parts of the same data, beside it.", () => { choose({ loss: "squared", rival: "G" }); loadTrap("six perpendicular", 0.05); }],
      ["All minima of G are the teacher, up to order and sign. It cannot be trapped, whatever the start.", () => { place("speed").value = 1.75; running(true); }],
    ] },
    { name: "Inputs that are not Gaussian", paper: "Gao, Makkuva, Oh and Viswanath (2018)", steps: [
      ["G needs Gaussian inputs. L replaces its polynomials by score functions, derivatives of the density, and takes any smooth law.", () => set({ loss: "L", neurons: 3, inputs: 3, students: 3 }, 4)],
      ["Under a Gaussian law L is G up to constants. It finds the three neurons.", () => { place("speed").value = 1.5; running(true); }],
      ["Let the inputs be two clouds instead, a mixture. Each neuron now has its own weight κ, the curvature of the density along it.", () => { set({ loss: "L", neurons: 3, inputs: 3, students: 3, shift: 0.5 }, 4); }],
      ["With the right law L still finds them all.", () => { place("speed").value = 1.5; running(true); }],
      ["Clouds far apart: κ changes its sign where a cloud is more than one standard deviation away. With both signs the landscape is lost, and the library takes another form of L.", () => { set({ loss: "L", neurons: 3, inputs: 3, students: 3, shift: 1.4 }, 4); running(true); }],
    ] },
    { name: "A filter that points away", paper: "Du, Lee, Tian, Póczos and Singh (2017)", steps: [
      ["One filter is shared by three patches; filter and outputs are both unknown. Only two kinds of minimum exist.", () => set({ loss: "conv", neurons: 3, inputs: 2, outputs: "mixed" }, 2)],
      ["From this start descent finds the teacher: the filter turns to the diamond and the outputs follow.", () => { set({ loss: "conv", neurons: 3, inputs: 2, outputs: "mixed", begin: "near" }, 2); running(true); }],
      ["Here is the other minimum: the filter points exactly away, and the outputs do their best with it.", () => loadTrap("conv")],
      ["Started beside it, descent goes back. The loss grows with the third power of a turn, too flat for second derivatives to see.", () => { loadTrap("conv", 0.2); running(true); }],
      ["Turning filter and outputs around leads out. Of four sign patterns of one start at least one ends at the teacher: that is how the library restarts.", () => { set({ loss: "conv", neurons: 3, inputs: 2, outputs: "mixed", begin: "near" }, 5); running(true); }],
    ] },
    { name: "Near is enough", paper: "Fu, Chi and Liang (2018)", steps: [
      ["Sigmoid neurons make labels. The paper's likelihood has no closed expectation; the squared loss of the same neurons is shown, with the same story.", () => set({ loss: "squared", activation: "sigmoid", neurons: 3, inputs: 3, students: 3, begin: "near" }, 3)],
      ["Close to the teacher the loss is strongly convex: all eigenvalues of the spectrum are positive, and descent converges by a constant factor a step.", () => { place("speed").value = 0.75; running(true); }],
      ["From far away there is no such promise: here the spectrum has negative eigenvalues, so the loss is not convex.", () => { set({ loss: "squared", activation: "sigmoid", neurons: 3, inputs: 3, students: 3, begin: "together" }, 3); }],
      ["This start gets there all the same, by a detour. Nothing guarantees that it does.", () => { place("speed").value = 0.75; running(true); }],
      ["So the start comes from elsewhere: moments of the labels give directions close enough to the teacher, and descent does the rest.", () => { set({ loss: "squared", activation: "sigmoid", neurons: 3, inputs: 3, students: 3, begin: "near" }, 6); place("speed").value = 0.75; running(true); }],
    ] },
    { name: "More neurons than needed", paper: "Soltanolkotabi, Javanmard and Lee (2017)", steps: [
      ["Quadratic neurons, more of them than the teacher has: the squared loss is convex in the matrix that they add up to.", () => set({ loss: "squared", activation: "quadratic", neurons: 2, inputs: 3, students: 4, shape: "random" }, 2)],
      ["Every start ends at zero loss. The neurons themselves need not be the teacher's: only their sum of squares is determined.", () => { place("speed").value = 1.25; running(true); }],
      ["ReLU neurons have no such convexity. Five around a circle trap every second start.", () => { choose({ loss: "squared", rival: "" }); loadTrap("five around the circle", 0.03); running(true); }],
      ["The same teacher with a sixth student neuron: this start still ends above zero, though lower than the trap of five.", () => { set({ loss: "squared", shape: "around", neurons: 5, inputs: 2, students: 6 }, 3); place("speed").value = 1.5; running(true); }],
      ["More neurons than needed make descent easier and the answer less definite. Of these two, which both get there, only F is guaranteed to.", () => { set({ loss: "squared", rival: "F", neurons: 4, inputs: 4, students: 4, shape: "slanted" }, 3); place("speed").value = 1.75; running(true); }],
    ] },
  ];
  const panel = place("tour"), calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  let timer = null, opener = null;
  function stop() { clearInterval(timer); panel.hidden = true; running(false); if (opener) opener.focus(); }
  function go(tour, at, automatic) {
    clearInterval(timer);
    const [text, act] = tour.steps[at], last = at + 1 === tour.steps.length;
    running(false); act();
    const bar = make("progress", { max: SECONDS, value: 0, "aria-label": "time until the next step" });
    const button = (words, action, off) => make("button", { type: "button", disabled: off, onclick: action }, words);
    const hold = button(automatic ? "hold" : "go on by itself", () => go(tour, at, !automatic));
    const next = button(last ? "end" : "next", () => (last ? stop() : go(tour, at + 1, automatic)));
    panel.replaceChildren(make("p", {}, make("strong", {}, `${tour.name}, ${at + 1} of ${tour.steps.length}. `), text, make("span", { class: "soft" }, ` ${tour.paper}`)),
      make("div", {}, button("back", () => go(tour, at - 1, automatic), at === 0), " ", next, " ", hold, " ", button("leave", stop), " ", ...(automatic && !last ? [bar] : [])));
    panel.hidden = false;
    next.focus({ preventScroll: true });
    if (!automatic || last) return;
    let seconds = 0;
    timer = setInterval(() => { seconds += 0.25; bar.value = seconds; if (seconds >= SECONDS) go(tour, at + 1, true); }, 250);
  }
  place("tours").append(...TOURS.map((tour) => make("button", { type: "button", title: tour.paper, onclick: (event) => { opener = event.target; go(tour, 0, !calm); } }, tour.name)));
})();
