import type { ErrorAnswer, SessionAnswer } from '../src/api/answers.ts'

/** A call of the API that failed, with the text for the visitor. */
export class ApiError extends Error {
  readonly status: number
  readonly code: string

  constructor(status: number, { code, message }: ErrorAnswer['error']) {
    super(message)
    this.status = status
    this.code = code
  }
}

let csrfToken = ''

/** Reads who the visitor is. The token for actions comes with it. */
export async function readSession(): Promise<SessionAnswer> {
  const session = await get<SessionAnswer>('session')
  csrfToken = session.csrfToken
  return session
}

/** Reads something. */
export async function get<Answer>(path: string, signal?: AbortSignal): Promise<Answer> {
  return answerOf(await reached(fetch(`api/${path}`, signal ? { signal } : {})))
}

/** Acts. */
export async function post<Answer>(path: string, body: object): Promise<Answer> {
  return answerOf(
    await reached(
      fetch(`api/${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-sendoff-csrf': csrfToken },
        body: JSON.stringify(body),
      }),
    ),
  )
}

/** Returns the path of a call about one outbox. */
export function outboxPath(outbox: string, path: string): string {
  return `outboxes/${encodeURIComponent(outbox)}/${path}`
}

async function reached(response: Promise<Response>): Promise<Response> {
  try {
    return await response
  } catch (error) {
    if ((error as Error).name === 'AbortError') throw error
    throw new ApiError(0, {
      code: 'UNREACHABLE',
      message: 'The server cannot be reached. It may be restarting, or your login may have ended.',
    })
  }
}

async function answerOf<Answer>(response: Response): Promise<Answer> {
  if (!response.headers.get('content-type')?.startsWith('application/json')) {
    throw new ApiError(response.status, {
      code: 'FOREIGN_ANSWER',
      message: `Something else answered with status ${response.status}, perhaps a login page. Load this page again.`,
    })
  }
  if (response.ok) return (await response.json()) as Answer
  const { error } = (await response.json().catch(() => ({}))) as Partial<ErrorAnswer>
  throw new ApiError(
    response.status,
    error ?? { code: 'FAILED', message: `The server answered with status ${response.status}.` },
  )
}
