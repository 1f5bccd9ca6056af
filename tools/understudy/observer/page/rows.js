// Rows: a list of any length of which only the rows in view are in the document.
//
// Texts go into the page by textContent only, never as HTML, because they come from programs.

const rowHeight = 26;
const rowsBeyond = 4;  // above and below what is in view
let lists = 0;

// A new element with a class and a text.
export function make(name, className = '', text = '') {
  const element = document.createElement(name);
  if (className) element.className = className;
  if (text) element.textContent = text;
  return element;
}

// Changes the document only if the text differs.
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

function setAttribute(element, name, value) {
  if (element.getAttribute(name) !== value) element.setAttribute(name, value);
}

// A bar that shows how full something is; the number stands beside it.
export function fillBar(bar, part, text) {
  const percent = `${Math.round(Math.min(1, Math.max(0, part)) * 100)}%`;
  if (bar.dataset.fill !== percent) {
    bar.dataset.fill = percent;
    bar.style.setProperty('--fill', percent);
  }
  bar.classList.toggle('full', part >= 0.9);
  setText(bar, text);
}

export class Rows {
  // `build(row)` puts elements into a new row and returns them; `fill(parts, item, row)` shows an item in them. `keyOf`
  // gives an item's identity: the selection stays with it. `onOpen(item)`: a click, or Enter. `onFold(item, open)`:
  // the keys left and right.
  constructor(element, {build, fill, keyOf, onOpen = () => {}, onFold = null}) {
    this.element = element;
    this.options = {build, fill, keyOf, onOpen, onFold};
    this.items = [];
    this.selected = null;
    this.#space = element.appendChild(make('div', 'space'));
    this.#space.setAttribute('role', 'presentation');
    this.#id = `rows${lists++}`;
    element.addEventListener('scroll', () => this.draw(), {passive: true});
    element.addEventListener('keydown', (event) => this.#onKey(event));
    element.addEventListener('focus', () => {
      if (this.#place() < 0 && this.items.length > 0) this.#select(0);
    });
    new ResizeObserver(() => this.draw()).observe(element);
  }

  #space;
  #id;
  #rows = [];  // elements, for reuse

  // Shows these items. The same array as before holds the same items, which are drawn anew only if `isChanged`.
  set(items, isChanged = false) {
    if (items === this.items && !isChanged) return;
    if (items !== this.items) this.#measure(items);
    this.draw();
  }

  #measure(items) {
    this.items = items;
    this.#space.style.setProperty('height', `${items.length * rowHeight}px`);
    this.element.style.setProperty('--count', items.length);
    this.element.dataset.empty = String(items.length === 0);
  }

  // Shows what is in view.
  draw() {
    const {build, fill, keyOf, onOpen} = this.options;
    const top = Math.max(0, Math.floor(this.element.scrollTop / rowHeight) - rowsBeyond);
    const count = Math.ceil(this.element.clientHeight / rowHeight) + 2 * rowsBeyond;
    const shown = this.items.slice(top, top + count);
    while (this.#rows.length < shown.length) {
      const element = this.#space.appendChild(make('div', 'row'));
      const row = {element, parts: build(element), item: null, place: -1};
      element.setAttribute('role', this.options.onFold ? 'treeitem' : 'option');
      element.addEventListener('click', () => {
        if (row.item === null) return;
        this.#select(this.items.indexOf(row.item));
        onOpen(row.item);
      });
      this.#rows.push(row);
    }
    let active = '';
    this.#rows.forEach((row, index) => {
      row.item = shown[index] ?? null;
      row.element.hidden = row.item === null;
      if (row.item === null) return;
      const place = top + index;
      if (row.place !== place) {
        row.place = place;
        row.element.style.setProperty('transform', `translateY(${place * rowHeight}px)`);
        row.element.id = `${this.#id}-${place}`;
        row.element.setAttribute('aria-posinset', String(place + 1));
      }
      const isSelected = keyOf(row.item) === this.selected;
      setAttribute(row.element, 'aria-selected', String(isSelected));
      setAttribute(row.element, 'aria-setsize', String(this.items.length));
      if (isSelected) active = row.element.id;
      fill(row.parts, row.item, row.element);
    });
    if (active) this.element.setAttribute('aria-activedescendant', active);
    else this.element.removeAttribute('aria-activedescendant');
  }

  #place() {
    return this.items.findIndex((item) => this.options.keyOf(item) === this.selected);
  }

  #select(place) {
    this.selected = this.options.keyOf(this.items[place]);
    const top = place * rowHeight;
    const {scrollTop, clientHeight} = this.element;
    if (top < scrollTop) this.element.scrollTop = top;
    if (top + rowHeight > scrollTop + clientHeight) this.element.scrollTop = top + rowHeight - clientHeight;
    this.draw();
  }

  #onKey(event) {
    if (event.ctrlKey || event.altKey || event.metaKey || this.items.length === 0) return;
    const place = this.#place();
    const page = Math.max(1, Math.floor(this.element.clientHeight / rowHeight) - 1);
    const moves = {ArrowDown: place + 1, ArrowUp: place - 1, PageDown: place + page, PageUp: place - page, Home: 0,
      End: this.items.length - 1};
    if (event.key in moves) {
      this.#select(Math.min(this.items.length - 1, Math.max(0, moves[event.key])));
    } else if (place >= 0 && (event.key === 'Enter' || event.key === ' ')) {
      this.options.onOpen(this.items[place]);
    } else if (place >= 0 && this.options.onFold && (event.key === 'ArrowLeft' || event.key === 'ArrowRight')) {
      this.options.onFold(this.items[place], event.key === 'ArrowRight');
    } else {
      return;
    }
    event.preventDefault();
  }
}
