import { mkdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { checkOptions, having, requireOptions, text } from '../options.ts'
import { base64Of } from './mail-attachment.ts'
import type { ComposedMail, MailTransport } from './mail-transport.ts'
import { nodemailerMail, type NodemailerTransporter } from './nodemailer-transport.ts'

/** Options of `fileTransport`. */
export interface FileTransportOptions {
  /** Made if it is not there. */
  readonly folder: string
  /**
   * Made by `nodemailer.createTransport({ streamTransport: true, buffer: true })`: mails are then written as `.eml` files that
   * mail programs open. As JSON where left out.
   */
  readonly transporter?: NodemailerTransporter
}

/** Writes each mail to a file, called after its row: for development. A mail that is sent again replaces its file. */
export function fileTransport(options: FileTransportOptions): MailTransport {
  checkOptions('fileTransport', options, { folder: text, transporter: having('sendMail') })
  requireOptions('fileTransport', options, ['folder'])
  const { folder, transporter } = options

  return {
    name: 'file',

    async send(mail) {
      const [extension, content] =
        transporter === undefined ? ['json', jsonOf(mail)] : ['eml', await emlOf(mail, transporter)]
      const file = join(folder, `${mail.id}.${extension}`)
      await mkdir(folder, { recursive: true })
      // Whoever watches the folder sees whole files only.
      await writeFile(`${file}.part`, content)
      await rename(`${file}.part`, file)
      return { rejected: [] }
    },
  }
}

function jsonOf(mail: ComposedMail): string {
  const attachments = mail.attachments.map(({ content, ...attachment }) => ({
    ...attachment,
    base64: base64Of(content),
  }))
  return `${JSON.stringify({ ...mail, attachments }, undefined, 2)}\n`
}

async function emlOf(mail: ComposedMail, transporter: NodemailerTransporter): Promise<Uint8Array> {
  const { message } = (await transporter.sendMail(nodemailerMail(mail))) as { message?: unknown }
  if (message instanceof Uint8Array) return message
  throw new TypeError(
    'The transporter of fileTransport makes no files. Use nodemailer.createTransport({ streamTransport: true, buffer: true }).',
  )
}
