const name = 'sendoff-theme'

/** Returns the theme that is not shown now. */
export function otherTheme(): 'light' | 'dark' {
  const shown =
    document.documentElement.dataset['theme'] ??
    (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light')
  return shown === 'dark' ? 'light' : 'dark'
}

/** Changes the theme, and remembers it in this browser. */
export function toggleTheme(): void {
  const theme = otherTheme()
  document.documentElement.dataset['theme'] = theme
  try {
    localStorage.setItem(name, theme)
  } catch {
    // A browser without storage forgets it.
  }
}

try {
  const known = localStorage.getItem(name)
  if (known === 'light' || known === 'dark') document.documentElement.dataset['theme'] = known
} catch {
  // Then the theme is that of the system.
}
