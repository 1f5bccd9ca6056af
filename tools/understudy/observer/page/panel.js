// The panel of one actor or child, and the actions, each after a confirmation.

import {bytesText, counted, durationText, number, restartsInPeriod, stateText} from './model.js';
import {fillBar, make} from './rows.js';
import {act, ask} from './stream.js';

const lookMillis = 1000;

// Shows what `node` says of what was chosen: {pid, supervisor, child, title, about}, where `supervisor` and `child`
// (ChildDetails) are there if the choice is a child of a supervisor, and `title` and `about`, names with values, if it is
// an entry. `onChoose(pid)`: another actor is chosen here.
export class Panel {
  constructor(element, onChoose) {
    this.element = element;
    this.onChoose = onChoose;
    this.hint = [...element.children];
    this.choice = null;
    this.node = null;
    this.note = '';
    this.head = null;  // of the choice: heading and buttons
    this.body = null;
    this.drawn = '';  // what is in the body
    setInterval(() => this.look(), lookMillis);
  }

  show(node, choice) {
    this.node = node;
    this.choice = {...choice};
    this.note = '';
    this.drawn = '';
    this.head = make('div');
    this.body = make('div', '', 'asking …');
    this.element.replaceChildren(this.head, this.body);
    this.look();
  }

  close() {
    this.choice = null;
    this.element.replaceChildren(...this.hint);
  }

  async look() {
    const choice = this.choice;
    if (choice === null || document.hidden) return;
    // A child that was started again is another actor, which is shown then.
    const now = choice.child && this.node.childOf(choice.supervisor, choice.child.id);
    if (now) {
      choice.child = now;
      choice.pid = now.pid ?? '';
    }
    let actor = null;
    let error = choice.ended ?? '';
    if (choice.pid && !choice.ended) {
      try {
        actor = await ask(`/api/actor?node=${this.node.place}&actor=${encodeURIComponent(choice.pid)}`);
      } catch (thrown) {
        error = thrown.message;
        if (thrown.status === 404 && !choice.child) choice.ended = error;  // no other actor will have this pid
      }
    }
    if (this.choice === choice) this.#draw(actor, error);
  }

  #draw(actor, error) {
    // What has not changed stays as it is, so that it can be clicked and selected.
    const {pid, child, title, about} = this.choice;
    const heading = title || child?.id || actor?.names?.[0] || actor?.label || pid;
    const head = JSON.stringify([heading, pid, actor !== null, isSuspended(actor), this.node.details?.actions]);
    if (this.head.dataset.drawn !== head) {
      this.head.dataset.drawn = head;
      keepingFocus(this.head, () => this.head.replaceChildren(make('h2', '', heading), this.#buttons(actor)));
    }
    const tree = treeFacts(this.node, child, this.node.supervisors.get(pid));
    const drawn = JSON.stringify([actor, error, this.note, child, tree]);
    if (drawn === this.drawn) return;
    this.drawn = drawn;
    const parts = [];
    if (this.note) parts.push(make('p', 'note', this.note));
    if (error) parts.push(make('p', 'error', error));
    const facts = make('dl');
    const fact = (name, ...values) => {
      if (values.every((value) => value === '' || value === undefined)) return;
      const value = make('dd');
      value.append(...values);
      facts.append(make('dt', '', name), value);
    };
    for (const [name, value] of about ?? []) fact(name, value);
    if (child) {
      fact('child', `${child.id}: ${child.state}, ${child.kind}, ${child.restart}, ` +
        counted(number(child.restarts), 'restart'));
    }
    for (const [name, value] of tree) fact(name, value);
    if (pid) fact('pid', pid);
    if (actor) this.#facts(actor, fact);
    parts.push(facts);
    if (actor?.mailboxes?.length) parts.push(make('h3', '', 'Mailboxes'), ...actor.mailboxes.map(mailbox));
    if (actor) {
      parts.push(...this.#others('Links', actor.links, actor.link_count));
      parts.push(...this.#others('Monitors', actor.monitors, actor.monitor_count));
      parts.push(...this.#others('Monitored by', actor.monitored_by, actor.monitored_by_count));
    }
    const {scrollTop} = this.element;
    keepingFocus(this.body, () => this.body.replaceChildren(...parts));
    this.element.scrollTop = scrollTop;
  }

  #facts(actor, fact) {
    fact('state', make('span', `state ${actor.state ?? ''}`, stateText(actor.state)),
      actor.doing ? ` ${actor.doing} for ${durationText(actor.doing_for_nanos)}` : '');
    fact('names', (actor.names ?? []).join(', '));
    fact('class', actor.class_name ?? '');
    fact('label', actor.label ?? '');
    fact('behavior', actor.behavior ?? '');
    fact('awaiting', (actor.awaiting ?? []).join(', '));
    fact('timers', number(actor.timers) ? `${number(actor.timers)}, the next in ${durationText(actor.next_timer_nanos)}` : '');
    fact('waiting', counted(number(actor.waiting), 'message'));
    if (actor.parent) fact('parent', this.#other(actor.parent));
    if (!actor.is_complete) {
      fact('note', number(actor.noted_within_nanos)
        ? `it waits for a worker; this is as its last turn left it, at most ${durationText(actor.noted_within_nanos)} ago`
        : 'it waits for a worker, so only its counters can be read now');
    }
  }

  #other(pid) {
    const button = make('button', 'link', pid);
    button.type = 'button';
    button.dataset.key = `other ${pid}`;
    button.addEventListener('click', () => this.onChoose(pid));
    return button;
  }

  #others(title, pids = [], count = 0) {
    if (pids.length === 0) return [];
    const list = make('p', 'others');
    list.append(...pids.map((pid) => this.#other(pid)));
    if (number(count) > pids.length) list.append(` and ${number(count) - pids.length} more`);
    return [make('h3', '', title), list];
  }

  #buttons(actor) {
    const buttons = make('div', 'buttons');
    const {pid, supervisor, child} = this.choice;
    const name = child?.id || actor?.names?.[0] || '';
    const what = name && pid ? `${name} (${pid})` : name || pid;
    const add = (key, text, request, note) => {
      if (!this.node.allows(request.action)) return;
      const button = make('button', request.action === 'KILL' ? 'danger' : '', text);
      button.type = 'button';
      button.dataset.key = key;
      button.addEventListener('click', () => this.#act(`${text} ${what} on node ${this.node.name}?`, text, note, request));
      buttons.append(button);
    };
    if (pid && actor) {
      add('stop', 'Stop', {action: 'STOP', actor: pid}, 'The actor is requested to end, as its parent would do it.');
      add('kill', 'Kill', {action: 'KILL', actor: pid}, 'The actor ends at once. Its supervisor decides what follows.');
    }
    if (pid && isSuspended(actor)) {
      add('resume', 'Resume', {action: 'RESUME', actor: pid}, 'The actor goes on with the messages that wait.');
    } else if (pid && actor) {
      add('suspend', 'Suspend for 30s', {action: 'SUSPEND', actor: pid, time_nanos: '30000000000'},
        'Its messages wait for 30 seconds, unless you resume it before. Timers, signals and handlers that have begun go on.');
    }
    // Of its own accord a supervisor forgets such a child, so it could not be started again.
    const isForgotten = child?.restart === 'temporary' || this.node.supervisors.get(supervisor)?.is_pool;
    if (supervisor && child && !isForgotten) {
      add('restart', 'Restart', {action: 'RESTART', actor: supervisor, child: child.id},
        'The child is ended and started again, without counting as a restart.');
    }
    const close = make('button', '', 'Close');
    close.type = 'button';
    close.dataset.key = 'close';
    close.addEventListener('click', () => this.close());
    buttons.append(close);
    return buttons;
  }

  async #act(question, verb, note, request) {
    const choice = this.choice;
    if (!await confirmed(question, verb, note)) return;
    const said = await doneText(this.node, request);
    if (this.choice === choice) this.note = said;
    this.look();
  }
}

// What the supervision tree says of a child and of a supervisor, either of which may not be there: names with values.
function treeFacts(node, child, supervisor) {
  const facts = [];
  const now = Date.now();
  if (child) {
    const stopped = child.is_killed ? 'killed' : number(child.shutdown_nanos) ?
      `within ${durationText(child.shutdown_nanos)}` : 'waited for without limit';
    facts.push(['next start', node.startsIn(child, now)], ['last exit', node.lastExit(child, now)], ['stopped', stopped]);
    facts.push(['significant', child.significant ? 'its end may end its supervisor' : '']);
    const {backoff, budget} = child;
    if (backoff) {
      facts.push(['backoff', `${durationText(backoff.min_nanos)} to ${durationText(backoff.max_nanos)}, ` +
        `begins anew after ${durationText(backoff.reset_after_nanos)}`]);
    }
    if (budget) {
      facts.push(['budget', `${counted(number(budget.intensity), 'restart')} in ${durationText(budget.period_nanos)}`]);
    }
  }
  if (supervisor) {
    facts.push(['strategy', supervisor.is_pool ? 'pool' : supervisor.strategy], ['restarts', restartsInPeriod(supervisor)]);
  }
  return facts;
}

const isSuspended = (actor) => number(actor?.suspended_for_nanos) > 0;

// Calls `draw`, which replaces what is in `element`, and gives the focus of a button there to the one with its key.
function keepingFocus(element, draw) {
  const focused = document.activeElement?.dataset?.key;
  draw();
  if (focused && document.activeElement === document.body) {
    [...element.querySelectorAll('button')].find((button) => button.dataset.key === focused)?.focus();
  }
}

// What the node says to the request, or why it was not done.
export async function doneText(node, request) {
  try {
    return (await act(node.place, request)).done ?? 'done';
  } catch (error) {
    // The node may have got a request that it did not answer in time.
    const isKnown = error.status >= 400 && error.status < 500;
    return `${isKnown ? 'Not done' : 'It is not known whether it was done'}: ${error.message}`;
  }
}

// Asks in the dialog; true if the user agrees.
export function confirmed(question, verb, note) {
  const dialog = document.getElementById('confirm');
  document.getElementById('confirm-text').textContent = question;
  document.getElementById('confirm-note').textContent = note;
  document.getElementById('confirm-yes').textContent = verb;
  return new Promise((resolve) => {
    document.getElementById('confirm-yes').onclick = () => dialog.close('yes');
    document.getElementById('confirm-no').onclick = () => dialog.close('no');
    dialog.onclose = () => resolve(dialog.returnValue === 'yes');
    dialog.returnValue = 'no';
    dialog.showModal();
  });
}

function mailbox(details) {
  const element = make('div', 'mailbox');
  const waiting = number(details.waiting);
  const capacity = number(details.capacity_messages);
  const head = make('div', 'mailbox-head');
  head.append(make('b', '', details.name), make('span', details.closed_by === 'open' ? '' : 'closed',
    details.closed_by === 'open' ? ' open' : ` closed by ${details.closed_by}`));
  const bar = make('div', 'bar');
  fillBar(bar, capacity ? waiting / capacity : 0, `${waiting} of ${capacity || '∞'} waiting`);
  element.append(head, bar);
  if (number(details.capacity_bytes)) {
    element.append(make('div', 'small', `${bytesText(details.bytes)} of ${bytesText(details.capacity_bytes)}`));
  }
  const type = details.reply ? `${details.request} → ${details.reply}` : details.request;
  const fates = ['accepted', 'handled', 'rejected', 'failed', 'expired', 'cancelled', 'dropped', 'dead_letters',
    'forwarded'].filter((fate) => number(details[fate])).map((fate) => `${fate.replace('_', ' ')} ${number(details[fate])}`);
  element.append(make('div', 'small', type), make('div', 'small', fates.join(', ')));
  return element;
}
