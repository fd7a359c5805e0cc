import { Refusal } from './refusal.ts'

/** How many bytes the body of a request may have. An edited payload of 1 MiB fits, with all its escapes. */
export const maxBodyBytes = 4_194_304

/** Reads a JSON object from a request. Refuses other types of content, and bodies that are too large. */
export async function readJsonBody(request: Request): Promise<Readonly<Record<string, unknown>>> {
  const type = (request.headers.get('content-type') ?? '').split(';')[0]!.trim().toLowerCase()
  if (type !== 'application/json') {
    throw new Refusal(415, 'WRONG_CONTENT_TYPE', 'Send the body as application/json.')
  }
  if (Number(request.headers.get('content-length') ?? 0) > maxBodyBytes) throw tooLarge()

  let value: unknown
  try {
    value = JSON.parse(await textWithin(maxBodyBytes, request))
  } catch (error) {
    if (error instanceof Refusal) throw error
    throw notAnObject()
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw notAnObject()
  return value as Record<string, unknown>
}

async function textWithin(limit: number, request: Request): Promise<string> {
  const parts: Uint8Array[] = []
  let size = 0
  for await (const part of request.body ?? []) {
    size += (part as Uint8Array).length
    // Leaving the loop cancels the stream: the rest is never read.
    if (size > limit) throw tooLarge()
    parts.push(part as Uint8Array)
  }
  return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(parts))
}

function tooLarge(): Refusal {
  return new Refusal(413, 'BODY_TOO_LARGE', `The body may have ${maxBodyBytes} bytes at most.`)
}

function notAnObject(): Refusal {
  return new Refusal(400, 'INVALID_BODY', 'The body has to be a JSON object.')
}
