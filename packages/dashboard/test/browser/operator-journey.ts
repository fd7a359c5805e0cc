import { deepEqual, equal, ok } from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Browser } from 'playwright-core'
import { checkAccessible, openBrowser, openPage, type WatchedPage } from './browser-page.ts'
import { playShop, type SceneDatabase, type ShopScene } from './shop-scene.ts'

const dead = 500

/** Tests by clicking what an operator does at three in the morning. Every effect is read from the database. */
export function testOperatorJourney(name: string, open: () => Promise<SceneDatabase>): void {
  describe(`an operator on ${name}`, () => {
    let browser: Browser
    let shop: ShopScene
    let watched: WatchedPage
    before(async () => {
      browser = await openBrowser()
      shop = await playShop(await open(), { dead })
      watched = await openPage(browser)
    })
    after(async () => {
      await watched?.close()
      await browser?.close()
      await shop?.close()
    })

    const deadMails = async (): Promise<number> => {
      const [row] = await shop.query(
        `select count(*) as count from orders_outbox where status = 3 and destination = 'mail' and event_type = 'OrderPlaced'`,
      )
      return Number(row!['count'])
    }

    it('sees the problems first, finds the failing type, and reads why', async () => {
      const { page } = watched
      await page.goto(shop.url)
      await page.getByRole('list', { name: 'Problems' }).getByText('502 dead events').waitFor()
      await checkAccessible(page, 'overview')
      await page.getByRole('link', { name: 'See why' }).click()
      const group = page.getByRole('list', { name: 'Groups of failures' }).getByRole('listitem').first()
      await group.getByText('ConnectionError', { exact: true }).waitFor()
      equal(await group.locator('.figure-value').innerText(), '500')
      await group.getByRole('link', { name: 'newest example' }).click()
      const error = page.getByRole('note', { name: 'Last error' })
      ok((await error.innerText()).includes('connect ECONNREFUSED 10.0.4.17:587'))
      // A number that JavaScript cannot hold is shown as it is stored.
      await page.getByText('9007199254740993').waitFor()
      equal(
        await page.getByRole('link', { name: 'Open its trace' }).getAttribute('href'),
        'https://traces.example.com/trace/4bf92f3577b34da6a3ce929d0e0e4736',
      )
    })

    it('replays 500 dead events at a pace, stops half-way, and resumes', async () => {
      const { page } = watched
      equal(await deadMails(), dead)
      await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Failures' }).click()
      await page.getByRole('link', { name: 'Replay…' }).first().click()
      await page.getByRole('button', { name: 'Preview' }).click()
      await page.getByText('500 events match').waitFor()
      equal(await page.getByRole('list', { name: 'Sample' }).getByRole('listitem').count(), 5)
      await page.getByLabel('Events per second at most').fill('50')
      await page.getByRole('button', { name: 'Replay 500 events' }).click()
      await page.getByRole('button', { name: 'Stop' }).waitFor()
      while (Number(await page.evaluate(`document.querySelector('progress').value`)) < 50) await nextTurn()
      await page.getByRole('button', { name: 'Stop' }).click()
      await page.getByText('stopped', { exact: true }).waitFor()
      const left = await deadMails()
      ok(left > 0 && left <= dead - 50, `${left} are left`)
      const [entry] = await shop.query(
        `select actor, action, state, affected from orders_outbox_audit order by id desc limit 1`,
      )
      deepEqual(
        { ...entry, affected: Number(entry!['affected']) },
        { actor: 'ann@example.com', action: 'replay', state: 'stopped', affected: dead - left },
      )

      await page.getByRole('button', { name: 'Resume' }).click()
      await page.getByText('done', { exact: true }).waitFor({ timeout: 40_000 })
      equal(await deadMails(), 0)
    })

    it('parks a key, unparks it, and retries its first event', async () => {
      const { page } = watched
      const parked = async (): Promise<number> =>
        (await shop.query(`select * from payments_outbox_control where name = 'customer-17'`)).length
      const blocked = async (): Promise<number> =>
        (await shop.query(`select * from payments_outbox where blocked_at is not null`)).length
      await page.getByLabel('Outbox').selectOption('payments')
      await page.getByRole('link', { name: 'Open keys' }).click()
      const key = page.getByRole('list', { name: 'Keys' }).getByRole('listitem')
      await key.getByRole('button', { name: 'Park', exact: true }).click()
      await key.getByText('PARKED').waitFor()
      equal(await parked(), 1)
      await key.getByRole('button', { name: 'Unpark' }).click()
      await key.getByRole('button', { name: 'Park', exact: true }).waitFor()
      deepEqual([await parked(), await blocked()], [0, 1])
      await key.getByRole('button', { name: 'Retry' }).click()
      await page.getByText('customer-17 is retried.').waitFor()
      equal(await blocked(), 0)
      await shop.blockPayment()
      await page.getByLabel('Outbox').selectOption('orders')
    })

    it('skips the event that blocks a key', async () => {
      const { page } = watched
      const states = async (): Promise<readonly unknown[]> =>
        (await shop.query(`select status, blocked_at from payments_outbox order by seq`)).map((row) =>
          row['blocked_at'] === null ? Number(row['status']) : 'blocked',
        )
      deepEqual((await states()).slice(1), ['blocked', 0, 0])
      await page.getByLabel('Outbox').selectOption('payments')
      await page.getByRole('link', { name: 'Open keys' }).click()
      const key = page.getByRole('list', { name: 'Keys' }).getByRole('listitem')
      await key.getByText('RangeError: amount -5 is below zero').waitFor()
      ok((await key.innerText()).includes('2 behind it'))
      await key.getByRole('button', { name: 'Skip' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByLabel('Reason, for the record').fill('Wrong sign, booked by hand.')
      await checkAccessible(page, 'question')
      await dialog.getByRole('button', { name: 'Skip it' }).click()
      await page.getByText('No key waits').waitFor()
      deepEqual((await states()).slice(1), [3, 0, 0])
      const [row] = await shop.query(`select last_error from payments_outbox where status = 3`)
      equal(row!['last_error'], 'Wrong sign, booked by hand.')
    })

    it('pauses a destination, and lets it go on', async () => {
      const { page } = watched
      const paused = async (): Promise<number> =>
        (await shop.query(`select * from orders_outbox_control where name = 'mail'`)).length
      await page.getByLabel('Outbox').selectOption('orders')
      await page
        .getByRole('navigation', { name: 'Pages' })
        .getByRole('link', { name: 'Destinations' })
        .click()
      await page.getByRole('button', { name: 'Pause mail' }).click()
      await page.getByRole('button', { name: 'Resume mail' }).waitFor()
      equal(await paused(), 1)
      await page.getByRole('button', { name: 'Resume mail' }).click()
      await page.getByRole('button', { name: 'Pause mail' }).waitFor()
      equal(await paused(), 0)
    })

    it('follows one order through three destinations, by keyboard', async () => {
      const { page } = watched
      await page.keyboard.press('Control+k')
      await page.getByRole('combobox', { name: /Type a command/ }).fill(shop.orderId)
      await page.keyboard.press('Enter')
      await page.getByRole('region', { name: 'Events' }).getByRole('row').nth(3).waitFor()
      await page.keyboard.press('j')
      await page.keyboard.press('Enter')
      const strip = page.getByRole('list', { name: 'Destinations' })
      await strip.waitFor()
      const boxes = await strip.getByRole('listitem').allInnerTexts()
      deepEqual(
        boxes.map((text) => text.split(/\s+/).slice(0, 2)),
        [
          ['kafka', 'DONE'],
          ['mail', 'DEAD'],
          ['partners', 'DEAD'],
        ],
      )
      await strip.getByRole('link', { name: /partners/ }).click()
      await page.getByText('HttpError: partner 4711 answered 422').first().waitFor()
      equal(await page.getByText(/Attempt \d failed/).count(), 2)
      await checkAccessible(page, 'event')
    })

    it('edits a payload and replays it', async () => {
      const { page } = watched
      await page.getByRole('button', { name: 'Edit and replay' }).click()
      await page.getByLabel('Payload').fill('{"orderId":"o-33","reference":9007199254740995}')
      await checkAccessible(page, 'edit')
      await page.getByRole('button', { name: 'Write and deliver' }).click()
      await page.getByText('9007199254740995').waitFor()
      const rows = await shop.query(
        `select cast(payload as text) as payload, cast(headers as text) as headers from orders_outbox where event_type = 'OrderCancelled' and status = 0 and destination = 'partners'`,
      )
      equal(rows.length, 1)
      equal(String(rows[0]!['payload']).includes('9007199254740995'), true)
      ok(String(rows[0]!['headers']).includes(shop.orderId))
    })

    it('finds every action in the audit, and nothing went wrong in the page', async () => {
      const { page } = watched
      await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Audit' }).click()
      const table = page.getByRole('region', { name: 'Audit' })
      for (const text of ['Replayed with another payload', 'Resumed', 'Paused', 'Replayed']) {
        await table.getByText(text, { exact: true }).first().waitFor()
      }
      deepEqual(watched.faults, [])
      deepEqual(watched.foreign, [])
    })
  })
}
