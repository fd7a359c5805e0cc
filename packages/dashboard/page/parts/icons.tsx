import type { ComponentChildren, JSX } from 'preact'

function icon(children: ComponentChildren) {
  return function Icon(): JSX.Element {
    return (
      <svg
        class="icon"
        viewBox="0 0 20 20"
        width="18"
        height="18"
        fill="none"
        stroke="currentColor"
        stroke-width="1.6"
        stroke-linecap="round"
        stroke-linejoin="round"
        aria-hidden="true"
      >
        {children}
      </svg>
    )
  }
}

/** Small drawings. They only repeat what a text beside them says. */
export const icons = {
  overview: icon(<path d="M3 11h4v6H3zM8 3h4v14H8zM13 8h4v9h-4z" />),
  events: icon(<path d="M4 5h12M4 10h12M4 15h8" />),
  failures: icon(
    <>
      <path d="M10 3 2.5 16.5h15z" />
      <path d="M10 8.5v3.5M10 14.4v.1" />
    </>,
  ),
  replay: icon(<path d="M4 10a6 6 0 1 0 2-4.5M4 3v3.5h3.5" />),
  keys: icon(
    <>
      <circle cx="7" cy="12.5" r="3.5" />
      <path d="m9.5 10 6.5-6.5M13 6.5l2 2" />
    </>,
  ),
  destinations: icon(
    <>
      <circle cx="4.5" cy="10" r="2" />
      <circle cx="15.5" cy="5" r="2" />
      <circle cx="15.5" cy="15" r="2" />
      <path d="m6.3 9.2 7.4-3.4M6.3 10.8l7.4 3.4" />
    </>,
  ),
  processes: icon(<path d="M4 4h12v5H4zM4 11h12v5H4zM7 6.5h.1M7 13.5h.1" />),
  mail: icon(<path d="M3 5h14v10H3zM3.5 5.5 10 11l6.5-5.5" />),
  health: icon(<path d="M2.5 10.5h3.5l2-5 3.5 9 2-4h4" />),
  audit: icon(
    <>
      <path d="M5 3h10v14H5z" />
      <path d="M8 7h4M8 10h4M8 13h2" />
    </>,
  ),
  search: icon(
    <>
      <circle cx="9" cy="9" r="5" />
      <path d="m13 13 4 4" />
    </>,
  ),
  sun: icon(
    <>
      <circle cx="10" cy="10" r="3.2" />
      <path d="M10 2.5v2M10 15.5v2M2.5 10h2M15.5 10h2M4.7 4.7l1.4 1.4M13.9 13.9l1.4 1.4M4.7 15.3l1.4-1.4M13.9 6.1l1.4-1.4" />
    </>,
  ),
  moon: icon(<path d="M16.5 12A7 7 0 0 1 8 3.5a7 7 0 1 0 8.5 8.5Z" />),
  pause: icon(<path d="M7 4.5v11M13 4.5v11" />),
  play: icon(<path d="M6 4.5v11l9-5.5z" />),
  stop: icon(<path d="M5.5 5.5h9v9h-9z" />),
  check: icon(<path d="m4.5 10.5 3.5 3.5 7.5-8" />),
  next: icon(<path d="m8 5 5 5-5 5" />),
  menu: icon(<path d="M3.5 6h13M3.5 10h13M3.5 14h13" />),
  outside: icon(<path d="M8 5H4.5v10.5H15V12M11.5 4.5h4v4M15.5 4.5 9.5 10.5" />),
  empty: icon(<path d="M3 11h4l1.2 2h3.6L13 11h4M3 11l2.5-6h9L17 11v5H3z" />),
} as const
