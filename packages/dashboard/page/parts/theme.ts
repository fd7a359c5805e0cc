const name = 'sendoff-theme'

type Theme = 'light' | 'dark'

/** Returns the theme that is not shown now. */
export function otherTheme(): Theme {
  const shown =
    document.documentElement.dataset['theme'] ??
    (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light')
  return shown === 'dark' ? 'light' : 'dark'
}

/** Changes the theme, and remembers it in this browser. */
export function toggleTheme(): void {
  const theme = otherTheme()
  use(theme)
  try {
    localStorage.setItem(name, theme)
  } catch {
    // A browser without storage forgets it.
  }
}

/** Shows a theme, whatever that of the system is. */
function use(theme: Theme): void {
  const dark = document.getElementById('dark') as HTMLLinkElement
  dark.media = theme === 'dark' ? 'all' : 'not all'
  // Charts wait for this change. They have to find the new colours.
  document.documentElement.dataset['theme'] = theme
}

try {
  const known = localStorage.getItem(name)
  if (known === 'light' || known === 'dark') use(known)
} catch {
  // Then the theme is that of the system.
}
