import type { ParsedMail } from 'mailparser'
import { escapeHtml } from 'sendoff/mail'

/** Returns a received mail as a page, much as a mail program shows it. */
export function receivedPage({ from, to, subject = '', messageId = '', html }: ParsedMail): string {
  const headers = {
    From: from?.text ?? '',
    To: [to]
      .flat()
      .map((each) => each?.text ?? '')
      .join(', '),
    Subject: subject,
    'Message-ID': messageId,
  }
  const rows = Object.entries(headers).map(
    ([name, value]) => `<tr><th>${name}</th><td>${escapeHtml(value)}</td></tr>`,
  )
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>${escapeHtml(subject)}</title>
<style>
  body { margin: 0; font-family: sans-serif; }
  header { padding: 16px 24px; border-bottom: 1px solid #ccc; background: #fafafa; }
  th { text-align: right; color: #777; font-weight: normal; padding-right: 12px; }
  td, th { font-size: 14px; line-height: 1.6; }
</style>
<header><table>${rows.join('')}</table></header>
<main>${html || ''}</main>
</html>
`
}
