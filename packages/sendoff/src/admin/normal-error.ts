import { maxFailureText } from '../store/index.ts'

/**
 * Returns an error text without what differs from event to event: ids, numbers, times, addresses and quoted
 * values. Texts of the same fault then are the same.
 */
export function normalError(error: string): string {
  return error
    .slice(0, maxFailureText)
    .replace(/\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b/gi, '<id>')
    .replace(/\b[0-7][0-9A-HJKMNP-TV-Z]{25}\b/g, '<id>')
    .replace(/\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?/g, '<time>')
    .replace(/\b[\w.+-]+@[\w-]+\.[\w.-]+\b/g, '<address>')
    .replace(/\b0x[0-9a-f]+\b|\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{8,}\b/gi, '<id>')
    .replace(/"[^"]*"|'[^']*'/g, (quoted) => (/\d/.test(quoted) ? '<value>' : quoted))
    .replace(/\b(?:[A-Za-z]+[-_])+\d[\w-]*/g, '<id>')
    .replace(/(?<![A-Za-z])-?\d+(?:[.,]\d+)*/g, '<n>')
}
