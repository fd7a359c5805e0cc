/** Returns a function that says whether a name fits a pattern. Each `*` stands for any characters. */
export function fitsPattern(pattern: string): (name: string) => boolean {
  if (pattern === '*') return () => true
  const parts = pattern.split('*')
  if (parts.length === 1) return (name) => name === pattern

  const [first, ...middle] = parts as [string, ...string[]]
  const last = middle.pop()!
  const least = pattern.length - middle.length - 1
  return (name) => {
    if (name.length < least || !name.startsWith(first) || !name.endsWith(last)) return false
    let place = first.length
    for (const part of middle) {
      const found = name.indexOf(part, place)
      if (found < 0) return false
      place = found + part.length
    }
    return place <= name.length - last.length
  }
}
