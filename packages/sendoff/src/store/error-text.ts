/** The length in characters at which every store cuts error texts. */
export const maxErrorLength = 4000

/** Returns an error text as stores keep it: cut at `maxErrorLength`, but never through a character. */
export function storedErrorText(text: string): string {
  if (text.length <= maxErrorLength) return text

  const last = text.charCodeAt(maxErrorLength - 1)
  const opensPair = last >= 0xd800 && last <= 0xdbff
  return text.slice(0, opensPair ? maxErrorLength - 1 : maxErrorLength)
}
