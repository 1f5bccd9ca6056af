// Talks to the bridge: requests with the token of this page's address, and the stream of what changes.

// A browser sends the fragment of an address to nobody.
const token = location.hash.slice(1);
const headers = {'X-Understudy-Token': token};
// Pauses between two attempts: each twice the one before, and short again once something came.
const retryMillis = 1000;
const retryMillisMax = 15000;
// The bridge says something every five seconds (kHttpStreamBeatsEvery). After this time without a word the connection
// counts as lost, as that of a tunnel does whose other end has gone.
const silenceMillis = 15000;

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
// the connection, or ''. After the loss of events, and after the stream has ended or fallen silent, it begins anew, with
// the whole state. It ends only when the bridge does not know this page's token: then a new address was printed.
export async function follow(onEvent, onState) {
  let pause = retryMillis;
  for (;;) {
    try {
      const why = await followOnce(onEvent, () => {
        pause = retryMillis;
        onState('');
      });
      onState(`${why}; trying again.`);
    } catch (error) {
      if (error.status === 401) {
        return onState('This address is of an observer that has ended: open the one that was printed last.');
      }
      onState(`No connection to the observer (${error.message}); trying again. ` +
        'If it has ended, start it again and open the address that it prints.');
    }
    await new Promise((resolve) => setTimeout(resolve, pause));
    pause = Math.min(2 * pause, retryMillisMax);
  }
}

// Follows one stream until it ends, and returns why it has.
async function followOnce(onEvent, onBegin) {
  const stop = new AbortController();
  let watch = 0;
  const heard = () => {
    clearTimeout(watch);
    watch = setTimeout(() => stop.abort(new Error(`it has been silent for ${silenceMillis / 1000} s`)), silenceMillis);
  };
  try {
    heard();
    const answer = await fetch('/api/stream', {headers, signal: stop.signal});
    if (!answer.ok) {
      const json = await answer.json().catch(() => ({}));
      throw Object.assign(new Error(json.error || `status ${answer.status}`), {status: answer.status});
    }
    onBegin();
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    const parser = new EventParser();
    for (;;) {
      heard();
      const {value, done} = await reader.read();
      if (done) return 'The observer has ended the connection';
      for (const event of parser.add(value)) {
        // What is known is not whole any more; the next stream begins with all of it.
        if (event.name === 'lost') return 'The page was too slow for all changes';
        onEvent(event.name, JSON.parse(event.data));
      }
    }
  } finally {
    clearTimeout(watch);
    stop.abort();
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
