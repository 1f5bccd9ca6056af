// What is known of the nodes: built from the bridge's events, without the document.

const entriesMax = 1000;
const depthMax = 200;  // deeper supervisors are not shown: no tree is so deep, but a node may say so
export const flashMillis = 4000;

// Numbers of 64 bits are strings in protobuf's JSON, and what is 0 is left out.
export const number = (value) => Number(value ?? 0);

export const counted = (count, what) => `${count} ${what}${count === 1 ? '' : 's'}`;

// A row of the tree: a child of the supervisor `above`, or a supervisor that is nobody's child. It shows what is known now,
// so that it stays in its place when a child's details change.
class TreeRow {
  constructor(depth, above, at, details) {
    this.depth = depth;
    this.details = details;  // of a supervisor
    this.#above = above;
    this.#at = at;
    this.key = `${this.supervisor} ${this.child?.id ?? details.pid}`;
    this.hasChildren = false;
  }

  #above;  // SupervisorDetails, or null
  #at;  // the child's place there, or -1

  // What the supervisor above says of it: ChildDetails, or undefined.
  get child() {
    return this.#above?.children?.[this.#at];
  }

  get supervisor() {
    return this.#above?.pid ?? '';
  }

  get pid() {
    return this.child?.pid || this.details?.pid || '';
  }
}

export class NodeModel {
  constructor(place) {
    this.place = place;
    this.socket = '';
    this.error = '';
    this.details = null;  // NodeDetails
    this.peers = [];
    this.workers = [];
    this.top = [];
    this.states = new Map();  // the actors of `top` by pid
    this.most = 1;  // messages that wait in one of them
    this.supervisors = new Map();  // by pid
    this.hasMore = false;
    this.clock = {nanos: 0, at: 0};  // the node's clock at a time in milliseconds
    this.events = [];  // the newest first, as they are shown
    this.letters = [];
    this.lostEvents = 0;
    this.lostLetters = 0;
    this.folded = new Set();  // keys of rows
    this.flashes = new Map();  // "supervisor child" -> {until, text}
    this.#tree = null;
  }

  #tree;  // rows, or null if something has changed

  get name() {
    return this.details?.name || this.socket.split('/').pop() || `node ${this.place}`;
  }

  allows(action) {
    return (this.details?.actions ?? []).includes(action);
  }

  // An event of NodeWatch (node_watch.h). `now` is a time in milliseconds.
  apply(event, body, now) {
    switch (event) {
      case 'node':
        this.socket = body.socket ?? '';
        this.error = body.error ?? '';
        this.details = body.node ?? this.details;
        break;
      case 'peers':
        this.peers = body.peers ?? [];
        break;
      case 'workers':
        this.workers = (body.workers ?? []).map((worker, index) => ({...worker, place: index + 1}));
        break;
      case 'top':
        this.top = body.actors ?? [];
        this.states = new Map(this.top.map((actor) => [actor.pid, actor]));
        this.most = Math.max(1, ...this.top.map((actor) => number(actor.waiting)));
        break;
      case 'tree':
        this.#applyTree(body, now);
        break;
      case 'events':
        this.lostEvents = this.#append('events', body, this.lostEvents);
        if (!body.whole) body.entries.forEach((entry) => this.#flash(entry, now));
        break;
      case 'letters':
        this.lostLetters = this.#append('letters', body, this.lostLetters);
        break;
    }
  }

  #applyTree(body, now) {
    this.clock = {nanos: number(body.clock), at: now};
    if (body.whole) this.supervisors = new Map();
    this.hasMore = body.more;
    for (const pid of body.gone) this.supervisors.delete(pid);
    for (const supervisor of body.supervisors) {
      this.supervisors.set(supervisor.pid, supervisor);
    }
    for (const own of body.own) {
      // The object stays, because rows have it.
      const known = this.supervisors.get(own.pid);
      for (const name of Object.keys(known ?? {})) if (name !== 'children') delete known[name];
      Object.assign(known ?? {}, own);
    }
    if (body.whole || body.gone.length > 0 || body.supervisors.length > 0) this.#tree = null;
    for (const {of, at, child} of body.children) {
      const children = this.supervisors.get(of)?.children;
      if (!children || !(at in children)) continue;
      // The rows are others only if a supervisor is meant.
      if (this.supervisors.has(children[at].pid) || this.supervisors.has(child.pid)) this.#tree = null;
      children[at] = child;
    }
  }

  #append(list, body, lostBefore) {
    const known = body.whole ? [] : this[list];
    const last = number(known[0]?.number);
    const entries = body.entries.filter((entry) => number(entry.number) > last).reverse().concat(known);
    this[list] = entries.slice(0, entriesMax);
    const oldest = entries[entries.length - 1];
    return (body.whole ? number(oldest?.lost) : lostBefore) + number(body.lost);
  }

  #flash(entry, now) {
    if (entry.kind === 'started' && !number(entry.restarts)) return;
    this.flashes.set(`${entry.supervisor} ${entry.child}`, {until: now + flashMillis, text: entry.kind});
  }

  // The flash of a row, or null; forgets it when its time is over.
  flashOf(row, now) {
    const key = `${row.supervisor} ${row.child?.id}`;
    const flash = this.flashes.get(key);
    if (flash && flash.until < now) this.flashes.delete(key);
    return flash && flash.until >= now ? flash : null;
  }

  // How long ago a time on the node's clock was, in nanoseconds. `now` is a time in milliseconds.
  since(nanos, now) {
    return this.clock.nanos + (now - this.clock.at) * 1e6 - number(nanos);
  }

  // "starts in 1.5 s", "exited 12.0 s ago: …"; empty texts for what is not so.
  startsIn(child, now) {
    const left = -this.since(child.starts_at_nanos, now);
    return number(child.starts_at_nanos) ? `starts in ${durationText(Math.max(0, left))}` : '';
  }
  lastExit(child, now) {
    const ago = this.since(child.exited_at_nanos, now);
    return child.last_exit ? `exited ${durationText(Math.max(0, ago))} ago: ${child.last_exit}` : '';
  }

  // What its supervisor says of the child now; undefined if the supervisor is gone or has no such child.
  childOf(supervisor, id) {
    return this.supervisors.get(supervisor)?.children?.find((child) => child.id === id);
  }

  fold(row, isOpen) {
    if (!row.hasChildren) return;
    if (isOpen) this.folded.delete(row.key);
    else this.folded.add(row.key);
    this.#tree = null;
  }

  isFolded(row) {
    return this.folded.has(row.key);
  }

  // The rows of the tree that are not folded away. A node that lies may name a supervisor twice, or below itself: each is
  // shown once.
  tree() {
    if (this.#tree === null) this.#tree = this.#flatten();
    return this.#tree;
  }

  #flatten() {
    const below = new Map();  // supervisors whose parent names them as no child, by their parent
    const named = new Set();
    for (const supervisor of this.supervisors.values()) {
      for (const child of supervisor.children ?? []) {
        if (child.pid !== supervisor.pid) named.add(child.pid);
      }
    }
    const roots = [];
    for (const supervisor of this.supervisors.values()) {
      if (named.has(supervisor.pid)) continue;
      const parent = this.supervisors.has(supervisor.parent) ? supervisor.parent : null;
      if (parent === null) roots.push(supervisor);
      else if (below.has(parent)) below.get(parent).push(supervisor);
      else below.set(parent, [supervisor]);
    }
    const rows = [];
    const seen = new Set();
    const add = (above, at, details, depth) => {
      if (depth > depthMax || (details && seen.has(details.pid))) return;
      if (details) seen.add(details.pid);
      const children = details?.children ?? [];
      const orphans = details ? below.get(details.pid) ?? [] : [];
      const row = new TreeRow(depth, above, at, details);
      row.hasChildren = children.length + orphans.length > 0;
      rows.push(row);
      if (!row.hasChildren || this.folded.has(row.key)) return;
      children.forEach((child, place) => {
        add(details, place, child.pid === details.pid ? undefined : this.supervisors.get(child.pid), depth + 1);
      });
      for (const orphan of orphans) add(details, -1, orphan, depth + 1);
    };
    for (const root of roots) add(null, -1, root, 0);
    // Only a circle is left; it has no beginning.
    for (const supervisor of this.supervisors.values()) {
      if (roots.length === 0 && !seen.has(supervisor.pid)) add(null, -1, supervisor, 0);
    }
    return rows;
  }
}

export function durationText(nanos) {
  const seconds = number(nanos) / 1e9;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${Math.floor(seconds % 60)} s`;
  return `${Math.floor(seconds / 3600)} h ${Math.floor(seconds / 60) % 60} min`;
}

// "1 of 3 restarts in 10.0 s"
export const restartsInPeriod = (supervisor) => `${number(supervisor.restarts_in_period)} of ` +
  `${counted(number(supervisor.intensity), 'restart')} in ${durationText(supervisor.period_nanos)}`;

// The time of day, in the browser's zone.
export function timeText(unixNanos) {
  const time = new Date(number(unixNanos) / 1e6);
  const two = (value) => String(value).padStart(2, '0');
  return `${two(time.getHours())}:${two(time.getMinutes())}:${two(time.getSeconds())}.` +
    String(time.getMilliseconds()).padStart(3, '0');
}

export function bytesText(bytes) {
  const value = number(bytes);
  if (value < 1024) return `${value} B`;
  if (value < 1024 * 1024) return `${(value / 1024).toFixed(1)} KiB`;
  return `${(value / 1024 / 1024).toFixed(1)} MiB`;
}

// A state of an actor, with a sign that does not need its colour.
export const stateText = (state) => ({
  IDLE: '○ idle', AWAITING: '◔ awaiting', QUEUED: '◇ queued', RUNNING: '▶ running', STUCK: '■ stuck',
}[state] ?? '? unknown');
