// The observer page: puts the models of the nodes (model.js) into the document, as rows.js shows them.

import {NodeModel, bytesText, counted, durationText, number, restartsInPeriod, stateText, timeText} from './model.js';
import {Panel, confirmed, doneText} from './panel.js';
import {Rows, fillBar, make, setText} from './rows.js';
import {ask, follow} from './stream.js';

const searchPauseMillis = 250;

const byId = (id) => document.getElementById(id);
let nodes = [];  // of NodeModel
let shown = 0;  // the place of the node that is shown
let connectionText = 'connecting …';
let found = [];  // actors of the search
let foundNext = 0;
let isDrawAsked = false;

const node = () => nodes[shown];

// ---- Rows ----

// Elements of a row: each name is the class of a cell.
const cells = (...names) => (row) => {
  const parts = {};
  for (const name of names) parts[name] = row.appendChild(make('span', name));
  return parts;
};

function addTreeParts(row) {
  const parts = cells('fold', 'name', 'state', 'flash', 'about', 'pid')(row);
  parts.fold.setAttribute('aria-hidden', 'true');
  parts.fold.addEventListener('click', (event) => {
    event.stopPropagation();
    const item = tree.items.find((each) => each.key === row.dataset.key);
    if (item) foldRow(item, node().isFolded(item));
  });
  return parts;
}

function fillTreeRow(parts, item, row) {
  const {child, details, pid} = item;
  const actor = node().states.get(pid);
  const flash = node().flashOf(item, Date.now());
  const isStuck = actor?.state === 'STUCK';
  row.dataset.key = item.key;
  row.style.setProperty('--depth', item.depth);
  row.setAttribute('aria-level', String(item.depth + 1));
  if (item.hasChildren) row.setAttribute('aria-expanded', String(!node().isFolded(item)));
  else row.removeAttribute('aria-expanded');
  setText(parts.fold, item.hasChildren ? (node().isFolded(item) ? '▸' : '▾') : '');
  setText(parts.name, child?.id || details?.names?.[0] || details?.label || 'supervisor');
  setText(parts.state, isStuck ? `■ stuck ${durationText(actor.doing_for_nanos)}` : child ? childState(child.state) : '');
  parts.state.className = `state ${isStuck ? 'STUCK' : childClass(child?.state)}`;
  setText(parts.flash, flash ? `⟳ ${flash.text}` : '');
  row.classList.toggle('flashing', flash !== null);
  row.classList.toggle('stuck', isStuck);
  setText(parts.pid, pid);
  const about = treeAbout(item, actor);
  setText(parts.about, about);
  row.title = about;
}

const childState = (state) => ({running: '● running', restarting: '⟳ restarting', stopped: '□ stopped'}[state] ?? state ?? '');
const childClass = (state) => ({running: 'RUNNING', stopped: 'ended'}[state] ?? (state ? 'changing' : ''));

function treeAbout({child, details}, actor) {
  const about = [];
  if (child && child.kind !== 'worker') about.push(child.kind);
  if (child && child.restart !== 'permanent') about.push(child.restart);
  if (number(child?.restarts)) about.push(counted(number(child.restarts), 'restart'));
  if (details?.strategy) about.push(`${details.is_pool ? 'pool' : details.strategy}, ${restartsInPeriod(details)}`);
  if (number(actor?.waiting)) about.push(`${number(actor.waiting)} waiting`);
  if (child) about.push(node().startsIn(child, Date.now()), node().lastExit(child, Date.now()));
  return about.filter(Boolean).join(' · ');
}

function fillActorRow(parts, actor, row) {
  setText(parts.state, stateText(actor.state));
  parts.state.className = `state ${actor.state ?? ''}`;
  setText(parts.name, actor.names?.[0] || actor.label || actor.class_name || '');
  fillBar(parts.bar, number(actor.waiting) / node().most, `${number(actor.waiting)}`);
  setText(parts.pid, actor.pid);
  setText(parts.about, actor.doing ? `${actor.doing} for ${durationText(actor.doing_for_nanos)}` : actor.behavior ?? '');
  row.classList.toggle('stuck', actor.state === 'STUCK');
}

function fillEventRow(parts, entry, row) {
  const isBad = ['exited', 'failed to start', 'is given up'].includes(entry.kind);
  setText(parts.time, timeText(entry.time_unix_nanos));
  setText(parts.name, entry.child || entry.supervisor);
  setText(parts.kind, `${isBad ? '✖' : entry.kind.startsWith('is restarted') ? '⟳' : '·'} ${entry.kind}`);
  setText(parts.about, entry.reason ?? '');
  row.title = `${entry.child} of ${entry.supervisor}: ${entry.reason ?? ''}`;
  row.classList.toggle('bad', isBad);
  row.dataset.number = entry.number;
}

function fillLetterRow(parts, entry, row) {
  setText(parts.time, timeText(entry.time_unix_nanos));
  setText(parts.name, entry.mailbox || entry.type);
  setText(parts.pid, entry.to || '(no actor)');
  setText(parts.about, `${entry.why} from ${entry.from || 'outside any actor'}`);
  row.title = parts.about.textContent;
}

function fillPeerRow(parts, peer) {
  const state = !peer.is_live ? '✖ down' : peer.is_up ? '● up' : '◔ silent';
  setText(parts.state, state);
  parts.state.className = `state ${peer.is_live && peer.is_up ? 'RUNNING' : 'changing'}`;
  setText(parts.name, peer.node);
  setText(parts.about, `epoch ${number(peer.epoch)} · ${number(peer.bytes_waiting)} bytes unacknowledged · ` +
    `credit held ${number(peer.credit_held_messages)}, given ${number(peer.credit_given_messages)}` +
    (number(peer.forbidden) ? ` · ${number(peer.forbidden)} forbidden` : '') + (peer.address ? ` · ${peer.address}` : ''));
}

function fillWorkerRow(parts, worker, row) {
  setText(parts.name, `worker ${worker.place}`);
  setText(parts.state, worker.is_taken_over ? '■ stuck' : worker.is_parked ? '○ parked' : '▶ busy');
  parts.state.className = `state ${worker.is_taken_over ? 'STUCK' : worker.is_parked ? 'IDLE' : 'RUNNING'}`;
  row.classList.toggle('stuck', Boolean(worker.is_taken_over));
  setText(parts.about, `queue ${number(worker.waiting_turns)} · steals ${number(worker.steals)}` +
    (worker.doing ? ` · ${worker.doing} for ${durationText(worker.running_for_nanos)}` : ''));
}

function foldRow(item, isOpen) {
  node().fold(item, isOpen);
  askDraw();
}

const panel = new Panel(byId('panel'), (pid) => choose({pid, supervisor: '', child: null}));
function choose({pid, supervisor, child, title, about}) {
  panel.show(node(), {pid, supervisor, child, title, about});
  byId('panel').scrollIntoView({block: innerWidth < 900 ? 'start' : 'nearest'});
}

const tree = new Rows(byId('tree'), {
  build: addTreeParts, fill: fillTreeRow, keyOf: (item) => item.key, onOpen: choose, onFold: foldRow,
});
const actorRows = (id) => new Rows(byId(id), {
  build: cells('state', 'name', 'bar', 'pid', 'about'), fill: fillActorRow, keyOf: (actor) => actor.pid,
  onOpen: (actor) => choose(choiceOfPid(actor.pid)),
});
const busy = actorRows('busy');
const foundRows = actorRows('found');
const events = new Rows(byId('events'), {
  build: cells('time', 'name', 'kind', 'about'), fill: fillEventRow, keyOf: (entry) => entry.number,
  onOpen: (entry) => choose({...choiceOfPid(entry.pid ?? ''), title: `${entry.child || entry.supervisor} ${entry.kind}`,
    about: [['time', timeText(entry.time_unix_nanos)], ['supervisor', entry.supervisor], ['reason', entry.reason ?? '']]}),
});
const letters = new Rows(byId('letters'), {
  build: cells('time', 'name', 'pid', 'about'), fill: fillLetterRow, keyOf: (entry) => entry.number,
  onOpen: (entry) => choose({...choiceOfPid(entry.to ?? ''), title: 'Dead letter', about: [
    ['time', timeText(entry.time_unix_nanos)], ['why', entry.why], ['from', entry.from ?? 'outside any actor'],
    ['mailbox', entry.mailbox ?? ''], ['type', entry.type ?? ''], ['size', bytesText(entry.bytes)]]}),
});
const peers = new Rows(byId('peers'), {
  build: cells('state', 'name', 'about'), fill: fillPeerRow, keyOf: (peer) => peer.node,
});
const workers = new Rows(byId('workers'), {
  build: cells('name', 'state', 'about'), fill: fillWorkerRow, keyOf: (worker) => worker.place,
});

// The choice of that actor, as the child that it is in the tree if it is one.
function choiceOfPid(pid) {
  const row = pid && node().tree().find((each) => each.pid === pid);
  return row ? {pid, supervisor: row.supervisor, child: row.child} : {pid, supervisor: '', child: null};
}

// ---- Drawing ----

function askDraw() {
  if (isDrawAsked) return;
  isDrawAsked = true;
  requestAnimationFrame(() => {
    isDrawAsked = false;
    draw();
  });
}

function draw() {
  setText(byId('connection'), connectionText || '● live');
  byId('connection').classList.toggle('bad', connectionText !== '');
  drawNodes();
  if (!node()) return;
  const {error, lostEvents, lostLetters} = node();
  byId('banner').hidden = error === '';
  setText(byId('banner'), error && `Node ${node().name} does not answer: ${error}. What follows may be old.`);
  drawSummary();
  tree.set(node().tree(), true);  // flashes end, and the states of busy actors are shown there too
  busy.set(node().top);
  foundRows.set(found);
  events.set(node().events);
  letters.set(node().letters);
  peers.set(node().peers);
  workers.set(node().workers);
  setText(byId('tree-count'), `${counted(node().supervisors.size, 'supervisor')}${node().hasMore ? ', and more' : ''}`);
  setText(byId('busy-count'), `${node().top.filter((actor) => actor.state === 'STUCK').length} stuck, ${node().top.length} shown`);
  setText(byId('events-count'), kept(node().events, lostEvents));
  setText(byId('letters-count'), kept(node().letters, lostLetters));
  setText(byId('peers-count'), `${node().peers.length}`);
  setText(byId('workers-count'), `${node().workers.length}`);
}

const kept = (entries, lost) => `${entries.length}${lost ? `, ${lost} older ones lost` : ''}`;

function drawNodes() {
  const bar = byId('nodes');
  while (bar.children.length < nodes.length) {
    const place = bar.children.length;
    const tab = bar.appendChild(make('button'));
    tab.type = 'button';
    tab.setAttribute('role', 'tab');
    tab.addEventListener('click', () => showNode(place));
  }
  nodes.forEach((each, place) => {
    const tab = bar.children[place];
    setText(tab, `${each.error ? '✖' : each.details ? '●' : '◔'} ${each.name}`);
    tab.setAttribute('aria-selected', String(place === shown));
    tab.classList.toggle('bad', each.error !== '');
  });
}

function drawSummary() {
  const details = node().details;
  const bar = byId('summary');
  if (bar.children.length === 0) {
    bar.append(make('span', 'facts'));
    const drain = bar.appendChild(make('button', 'danger', 'Drain node'));
    drain.type = 'button';
    drain.addEventListener('click', () => drainNode());
    bar.append(make('span', 'note'));
  }
  const [facts, drain] = bar.children;
  setText(facts, details ? [
    `process ${number(details.pid)}`, details.address && `listens on ${details.address}`,
    `${number(details.live_actors)} actors`, number(details.fenced_actors) && `${number(details.fenced_actors)} fenced`,
    `${number(details.dead_letters)} dead letters`, `${number(details.late_replies)} late replies`,
    number(details.call_cycles) && `${number(details.call_cycles)} call cycles`,
  ].filter(Boolean).join(' · ') : node().socket);
  drain.hidden = !(details?.has_node && node().allows('DRAIN'));
}

async function drainNode() {
  const model = node();
  const note = 'The node ends its actors in order and leaves, as SIGTERM does.';
  if (!await confirmed(`Drain node ${model.name}, process ${number(model.details.pid)}?`, 'Drain', note)) return;
  byId('summary').lastChild.textContent = await doneText(model, {action: 'DRAIN'});
}

function showNode(place) {
  shown = place;
  panel.close();
  byId('summary').replaceChildren();
  search();
  askDraw();
}

// ---- Search ----

let searchTimer = 0;
async function search(after = 0) {
  const text = byId('search').value.trim();
  byId('found-section').hidden = text === '';
  byId('busy-section').hidden = text !== '';
  if (text === '' || !node()) {
    found = [];
    return askDraw();
  }
  const at = node();
  try {
    const page = await ask(`/api/search?node=${at.place}&text=${encodeURIComponent(text)}&after=${after}`);
    if (text !== byId('search').value.trim() || at !== node()) return;
    found = (after ? found : []).concat(page.actors ?? []);
    foundNext = page.next ?? 0;
    setText(byId('found-count'), `${found.length}${number(foundNext) ? ', there may be more' : ''}`);
  } catch (error) {
    found = [];
    foundNext = 0;
    setText(byId('found-count'), error.message);
  }
  byId('found-more').hidden = !number(foundNext);
  askDraw();
}

byId('search').addEventListener('input', () => {
  clearTimeout(searchTimer);
  searchTimer = setTimeout(search, searchPauseMillis);
});
byId('found-more').addEventListener('click', () => search(foundNext));

document.addEventListener('keydown', (event) => {
  if (byId('confirm').open) return;
  if (event.key === '/' && document.activeElement !== byId('search')) {
    event.preventDefault();
    byId('search').focus();
  } else if (event.key === 'Escape') {
    if (document.activeElement === byId('search')) {
      byId('search').value = '';
      search();
    }
    panel.close();
  }
});

// ---- What comes from the bridge ----

function onEvent(name, data) {
  if (name === 'nodes') {
    // After a loss the models stay: what comes next replaces all that they know, and the panel refers to them.
    nodes = Array.from({length: data}, (_, place) => nodes[place] ?? new NodeModel(place));
  } else {
    nodes[data.number].apply(name, data.body, Date.now());
  }
  askDraw();
}

setInterval(askDraw, 1000);  // flashes end
follow(onEvent, (text) => {
  connectionText = text;
  askDraw();
});
