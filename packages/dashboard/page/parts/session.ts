import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import type { SessionAnswer } from '../../src/api/answers.ts'

export const SessionContext = createContext<SessionAnswer>(undefined as never)

/** Who the visitor is, and what that person may do. */
export function useSession(): SessionAnswer & { readonly canAct: boolean; readonly isAdmin: boolean } {
  const session = useContext(SessionContext)
  const canAct = !session.isReadOnly && session.role !== 'viewer'
  return { ...session, canAct, isAdmin: canAct && session.role === 'admin' }
}
