// Talks to the bridge: requests with the token of this page's address, and the stream of what changes.

// A browser sends the fragment of an address to nobody.
const token = location.hash.slice(1);
const headers = {'X-Understudy-Token': token};
const retryMillis = 1000;

// The answer's JSON. Throws an Error whose message is for people, with the answer's `status`.
export async function ask(path, options = {}) {
  const answer = await fetch(path, {...options, headers: {...headers, ...options.headers}});
  const json = await answer.json().catch(() => ({error: `status ${answer.status}`}));
  if (!answer.ok) throw Object.assign(new Error(json.error || `status ${answer.status}`), {status: answer.status});
  return json;
}

export function act(node, request) {
  return ask(`/api/act?node=${node}`, {
    method: 'POST',
    headers: {'Content-Type': 'application/json'},
    body: JSON.stringify(request),
  });
}

// Calls onEvent(name, data) for each event, for as long as the page is open, and onState(text) with what is wrong with
// the connection, or ''. After the loss of events, and after the stream has ended, it begins anew.
export async function follow(onEvent, onState) {
  for (;;) {
    try {
      await followOnce(onEvent, onState);
      onState('The observer has ended the connection; trying again.');
    } catch (error) {
      onState(`No connection to the observer (${error.message}); trying again.`);
    }
    await new Promise((resolve) => setTimeout(resolve, retryMillis));
  }
}

async function followOnce(onEvent, onState) {
  const stop = new AbortController();
  const answer = await fetch('/api/stream', {headers, signal: stop.signal});
  if (!answer.ok) {
    const json = await answer.json().catch(() => ({}));
    throw new Error(json.error || `status ${answer.status}`);
  }
  onState('');
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  const parser = new EventParser();
  for (;;) {
    const {value, done} = await reader.read();
    if (done) return;
    for (const event of parser.add(value)) {
      if (event.name === 'lost') {
        stop.abort();  // what is known is not whole any more; the next stream begins with all of it
        return;
      }
      onEvent(event.name, JSON.parse(event.data));
    }
  }
}

// Server-sent events out of pieces of text (WHATWG HTML, 9.2.6), as far as the bridge uses them.
export class EventParser {
  #pieces = [];

  // The events that are complete now.
  add(text) {
    const events = [];
    let rest = text;
    // Only the end of what came before can complete the two newlines.
    if (this.#pieces.length > 0 && this.#pieces[this.#pieces.length - 1].endsWith('\n') && rest.startsWith('\n')) {
      events.push(...this.#take('\n'));
      rest = rest.slice(1);
    }
    for (let end = rest.indexOf('\n\n'); end >= 0; end = rest.indexOf('\n\n')) {
      events.push(...this.#take(rest.slice(0, end + 1)));
      rest = rest.slice(end + 2);
    }
    if (rest !== '') this.#pieces.push(rest);
    return events;
  }

  #take(last) {
    const block = this.#pieces.join('') + last;
    this.#pieces = [];
    const event = {name: '', data: ''};
    for (const line of block.split('\n')) {
      if (line.startsWith('event: ')) event.name = line.slice(7);
      if (line.startsWith('data: ')) event.data += (event.data && '\n') + line.slice(6);
    }
    return event.name === '' ? [] : [event];  // a comment has no name
  }
}
