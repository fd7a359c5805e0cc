const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'

/** Returns the beginning of every ULID made at this time. No ULID made before is above it. */
export function ulidStart(time: number): string {
  const digits = Math.max(0, Math.floor(time)).toString(32).padStart(10, '0')
  return Array.from(digits, (digit) => alphabet[Number.parseInt(digit, 32)]).join('')
}

/** Returns the time at which a ULID was made. The beginning of the ULID is enough. */
export function ulidTime(start: string): number {
  return Array.from(start.slice(0, 10)).reduce((time, digit) => time * 32 + alphabet.indexOf(digit), 0)
}
