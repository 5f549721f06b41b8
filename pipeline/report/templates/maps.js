"use strict";
// Maps that zoom, move and name the vertex under the pointer, by mouse, touch and keyboard, and buttons that copy a query.
// Nothing is loaded: positions and values of the vertices are in the page.
const read = id => JSON.parse(document.getElementById(id)?.textContent ?? "null");
const vertices = read("vertices"), values = read("values");
const MOST = 24, NEAR = 40;  // zoom; pixels of the screen from the pointer to the vertex that it names

function element(name, properties, parent) {
  const made = Object.assign(document.createElement(name), properties);
  parent?.append(made);
  return made;
}

function place(at) {
  const [east, north] = [0, 1].map(axis => vertices.corner[axis] + vertices.step[axis] * vertices[axis ? "y" : "x"][at]);
  if (!vertices.km) return `x ${east.toPrecision(6)}, y ${north.toPrecision(6)}`;
  const around = (east + 540) % 360 - 180;
  const degrees = (value, signs) => `${Math.abs(value).toFixed(4)}° ${signs[Math.round(value * 1e4) < 0 ? 1 : 0]}`;
  return `${degrees(north, "NS")}, ${degrees(around, "EW")}`;
}

function interactive(plate) {
  const sheet = plate.querySelector(".sheet"), scale = plate.querySelector(".scale"), shown = values[plate.dataset.map];
  const under = element("div", {className: "under"}), readout = element("p", {className: "readout"}, under);
  const tools = element("div", {className: "tools"}, under);
  readout.setAttribute("aria-live", "polite");
  plate.after(under);
  const pick = element("span", {className: "pick", hidden: true}, sheet);
  plate.tabIndex = 0;
  plate.setAttribute("role", "group");
  plate.setAttribute("aria-label", "Map. Plus and minus zoom, arrow keys move and name the vertex in the middle, 0 shows all.");
  const hint = readout.textContent = "Point at the map to name a vertex; + and − zoom, drag or arrow keys move, 0 shows all.";
  let zoom = 1, left = 0, top = 0;  // of the sheet, in pixels of the screen
  const fingers = new Map();

  function show() {
    const {clientWidth: width, clientHeight: height} = plate;
    left = Math.min(0, Math.max(width * (1 - zoom), left));
    top = Math.min(0, Math.max(height * (1 - zoom), top));
    sheet.style.transform = `translate(${left}px, ${top}px) scale(${zoom})`;
    sheet.style.setProperty("--zoom", zoom);
    plate.classList.toggle("zoomed", zoom > 1);
    if (!scale || !vertices.km) return;
    const quarter = vertices.km / zoom / 4, power = 10 ** Math.floor(Math.log10(quarter));
    const length = Math.max(...[1, 2, 5].map(step => step * power).filter(step => step <= quarter));
    scale.style.width = `${100 * length * zoom / vertices.km}%`;
    scale.textContent = length >= 1 ? `${length} km` : `${+(length * 1000).toPrecision(1)} m`;
  }

  function zoomTo(next, x = plate.clientWidth / 2, y = plate.clientHeight / 2) {
    next = Math.min(MOST, Math.max(1, next));
    left = x - (x - left) * next / zoom;
    top = y - (y - top) * next / zoom;
    zoom = next;
    show();
  }

  function name(x, y) {
    const pixels = plate.clientWidth * zoom / vertices.width;
    const across = (x - left) / pixels, down = (y - top) / pixels;
    let nearest = -1, least = (NEAR / pixels) ** 2;
    for (let at = 0; at < vertices.x.length; at++) {
      const distance = (vertices.x[at] - across) ** 2 + (vertices.y[at] - down) ** 2;
      if (distance < least) [nearest, least] = [at, distance];
    }
    pick.hidden = nearest < 0;
    if (nearest < 0) { readout.textContent = hint; return; }
    const share = 100 / vertices.width;
    pick.style.left = `${vertices.x[nearest] * share}%`;
    pick.style.top = `${vertices.y[nearest] * share * plate.clientWidth / plate.clientHeight}%`;
    const value = shown.length ? shown[nearest] : undefined;
    const said = typeof value === "number" ? `${plate.dataset.value} ${value.toLocaleString("en")}` : value ?? plate.dataset.none;
    const distance = value === undefined ? "" : `: ${said}`;
    readout.textContent = `vertex ${vertices.id[nearest]}${distance}${vertices.corner ? ` (${place(nearest)})` : ""}`;
  }

  const inside = event => {
    const box = plate.getBoundingClientRect();
    return [event.clientX - box.left - plate.clientLeft, event.clientY - box.top - plate.clientTop];
  };
  const middle = () => name(plate.clientWidth / 2, plate.clientHeight / 2);
  for (const [text, label, act] of [
    ["+", "Zoom in", () => zoomTo(zoom * 2)], ["−", "Zoom out", () => zoomTo(zoom / 2)], ["⤢", "Show all", () => zoomTo(1)],
  ]) element("button", {type: "button", textContent: text, title: label, ariaLabel: label, onclick: act}, tools);

  plate.addEventListener("keydown", event => {
    const step = plate.clientWidth / 8;
    const act = {
      "+": () => zoomTo(zoom * 1.5), "=": () => zoomTo(zoom * 1.5), "-": () => zoomTo(zoom / 1.5), "0": () => zoomTo(1),
      ArrowLeft: () => { left += step; }, ArrowRight: () => { left -= step; }, ArrowUp: () => { top += step; }, ArrowDown: () => { top -= step; },
    }[event.key];
    if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    act();
    show();
    middle();
  });
  // Without Ctrl the wheel scrolls the page; a pinch on a touch pad is a wheel with Ctrl. A map that has the focus zooms at once.
  plate.addEventListener("wheel", event => {
    if (!event.ctrlKey && document.activeElement !== plate) return;
    event.preventDefault();
    zoomTo(zoom * Math.exp(-event.deltaY / 300), ...inside(event));
    name(...inside(event));
  }, {passive: false});
  plate.addEventListener("dblclick", event => zoomTo(zoom * 2, ...inside(event)));
  plate.addEventListener("pointerdown", event => {
    fingers.set(event.pointerId, inside(event));
    if (zoom > 1 || fingers.size > 1) plate.setPointerCapture(event.pointerId);
    name(...inside(event));
  });
  plate.addEventListener("pointermove", event => {
    const before = fingers.get(event.pointerId), now = inside(event);
    if (!before) { name(...now); return; }
    const other = [...fingers].find(([id]) => id !== event.pointerId)?.[1];
    if (other) {
      const apart = point => Math.hypot(point[0] - other[0], point[1] - other[1]);
      zoomTo(zoom * apart(now) / Math.max(apart(before), 1), ...other);
    } else {
      left += now[0] - before[0];
      top += now[1] - before[1];
      show();
    }
    fingers.set(event.pointerId, now);
  });
  for (const end of ["pointerup", "pointercancel"]) plate.addEventListener(end, event => fingers.delete(event.pointerId));
  plate.addEventListener("pointerleave", () => { pick.hidden = true; readout.textContent = hint; });
  new ResizeObserver(show).observe(plate);
}

function copied(query) {
  const text = query.querySelector("pre"), button = element("button", {type: "button", textContent: "Copy"});
  text.before(button);
  button.addEventListener("click", async () => {
    getSelection().selectAllChildren(text);
    try { await navigator.clipboard.writeText(text.textContent); } catch { document.execCommand("copy"); }
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  });
}

if (vertices) document.querySelectorAll(".plate").forEach(interactive);
document.querySelectorAll(".query").forEach(copied);
