'use server'

import { redirect } from 'next/navigation'
import { OrderRefused, placeOrder } from '../lib/shop.ts'

/** Places the order of the form. */
export async function orderByForm(form: FormData): Promise<void> {
  const id = String(form.get('id'))
  try {
    await placeOrder({ id, total: Number(form.get('total')) })
  } catch (error) {
    if (!(error instanceof OrderRefused)) throw error
    redirect(`/?refused=${encodeURIComponent(error.message)}`)
  }
  // `redirect` throws. Inside a transaction, it would roll the order back.
  redirect(`/?placed=${encodeURIComponent(id)}`)
}
