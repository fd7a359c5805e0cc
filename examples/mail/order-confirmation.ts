import { escapeHtml, type RenderedTexts } from 'sendoff/mail'

export interface Order {
  readonly id: string
  readonly customer: { readonly name: string; readonly address: string }
  readonly lines: readonly { readonly item: string; readonly price: number }[]
}

const euros = new Intl.NumberFormat('en', { style: 'currency', currency: 'EUR' })

/** Returns the texts of the mail, as plain text and as HTML. */
export function orderConfirmation({ id, customer, lines }: Order): RenderedTexts {
  const total = euros.format(lines.reduce((sum, { price }) => sum + price, 0))
  const name = escapeHtml(customer.name)
  const rows = lines.map(
    ({ item, price }) =>
      `<tr><td style="padding:8px 0;border-bottom:1px solid #e5e0d5">${escapeHtml(item)}</td>` +
      `<td align="right" style="padding:8px 0;border-bottom:1px solid #e5e0d5">${euros.format(price)}</td></tr>`,
  )
  return {
    subject: `Your order ${id}`,
    text: [
      `Dear ${customer.name},`,
      '',
      `thank you for your order ${id}:`,
      '',
      ...lines.map(({ item, price }) => `- ${item}: ${euros.format(price)}`),
      '',
      `Total: ${total}`,
    ].join('\n'),
    html: `<table width="100%" cellpadding="0" cellspacing="0" style="background:#f4f0e6;font-family:Georgia,serif;color:#33302a">
<tr><td align="center" style="padding:32px">
<table width="520" cellpadding="0" cellspacing="0" style="background:#fff;border-radius:8px">
<tr><td style="background:#2f5d50;color:#fff;padding:20px 32px;font-size:22px;border-radius:8px 8px 0 0">The Tea Shop</td></tr>
<tr><td style="padding:24px 32px">
<p>Dear ${name},</p>
<p>thank you for your order <b>${escapeHtml(id)}</b>. It is on its way.</p>
<table width="100%" cellpadding="0" cellspacing="0">
${rows.join('\n')}
<tr><td style="padding:12px 0"><b>Total</b></td><td align="right" style="padding:12px 0"><b>${total}</b></td></tr>
</table>
<p style="color:#8a8477;font-size:13px">You get this mail because you ordered something from us.</p>
</td></tr></table>
</td></tr></table>`,
  }
}
