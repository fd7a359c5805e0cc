/** Returns a text without characters that a terminal would obey: a stored text must not steer the screen. */
export function printable(text: string): string {
  return text.replace(
    control,
    (char) => escapes[char] ?? `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

// Control characters, and those that turn the direction of writing.
const control = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g

const escapes: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }
