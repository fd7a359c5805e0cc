/** Error texts longer than this are cut by every store. */
export const maxErrorLength = 4000

/** The text as it is stored: cut at `maxErrorLength`, but never through a character. */
export function storedErrorText(text: string): string {
  if (text.length <= maxErrorLength) return text

  const last = text.charCodeAt(maxErrorLength - 1)
  const opensPair = last >= 0xd800 && last <= 0xdbff
  return text.slice(0, opensPair ? maxErrorLength - 1 : maxErrorLength)
}
