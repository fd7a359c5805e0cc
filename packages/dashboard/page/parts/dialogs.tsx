import { type ComponentChildren, createContext, type JSX } from 'preact'
import { useCallback, useContext, useEffect, useRef, useState } from 'preact/hooks'

/** A question before an action. */
export interface Question {
  readonly title: string
  readonly text: ComponentChildren
  readonly confirm: string
  readonly isDanger?: boolean
  /** Asks for a text as well, such as a reason. */
  readonly field?: { readonly label: string; readonly value: string }
}

interface Dialogs {
  /** Resolves to the text of the field (or an empty one) if the visitor agrees; to undefined otherwise. */
  readonly ask: (question: Question) => Promise<string | undefined>
  /** Shows a short message for a while. */
  readonly tell: (text: string, tone?: 'good' | 'bad') => void
  /** Runs an action, and says how it ended. */
  readonly attempt: (work: () => Promise<string | undefined>) => Promise<void>
}

const DialogContext = createContext<Dialogs>(undefined as never)

export function useDialogs(): Dialogs {
  return useContext(DialogContext)
}

interface Told {
  readonly id: number
  readonly text: string
  readonly tone: 'good' | 'bad'
}

/** Questions and messages for all pages. */
export function DialogProvider({ children }: { children: ComponentChildren }): JSX.Element {
  const [open, setOpen] = useState<{ question: Question; answer: (text: string | undefined) => void }>()
  const [told, setTold] = useState<readonly Told[]>([])
  const ids = useRef(0)
  const isActing = useRef(false)

  const ask = useCallback(
    (question: Question) =>
      new Promise<string | undefined>((resolve) =>
        setOpen({
          question,
          answer: (text) => {
            setOpen(undefined)
            resolve(text)
          },
        }),
      ),
    [],
  )
  const tell = useCallback((text: string, tone: Told['tone'] = 'good') => {
    const id = ++ids.current
    setTold((before) => [...before.slice(-2), { id, text, tone }])
    setTimeout(
      () => setTold((before) => before.filter((each) => each.id !== id)),
      tone === 'good' ? 5_000 : 10_000,
    )
  }, [])
  const attempt = useCallback(
    async (work: () => Promise<string | undefined>) => {
      // A second click while the first one acts would act twice.
      if (isActing.current) return
      isActing.current = true
      try {
        const text = await work()
        if (text !== undefined) tell(text)
      } catch (error) {
        tell((error as Error).message, 'bad')
      } finally {
        isActing.current = false
      }
    },
    [tell],
  )

  return (
    <DialogContext.Provider value={{ ask, tell, attempt }}>
      {children}
      {open !== undefined && <QuestionDialog {...open} />}
      <div class="toasts" role="status" aria-live="polite">
        {told.map(({ id, text, tone }) => (
          <p key={id} class={`toast ${tone}`}>
            {text}
          </p>
        ))}
      </div>
    </DialogContext.Provider>
  )
}

function QuestionDialog({
  question: { title, text, confirm, isDanger, field },
  answer,
}: {
  question: Question
  answer: (text: string | undefined) => void
}): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null)
  const [value, setValue] = useState(field?.value ?? '')
  useEffect(() => dialog.current?.showModal(), [])
  return (
    <dialog
      ref={dialog}
      class="dialog"
      aria-labelledby="question"
      onClose={() => answer(undefined)}
      onClick={(event) => event.target === dialog.current && answer(undefined)}
    >
      <form
        onSubmit={(event) => {
          event.preventDefault()
          answer(value)
        }}
      >
        <h2 id="question">{title}</h2>
        <div class="dialog-text">{text}</div>
        {field !== undefined && (
          <label class="field">
            <span>{field.label}</span>
            <input value={value} onInput={(event) => setValue(event.currentTarget.value)} />
          </label>
        )}
        <div class="dialog-actions">
          <button type="button" class="button" onClick={() => answer(undefined)}>
            Cancel
          </button>
          <button type="submit" class={`button primary ${isDanger ? 'danger' : ''}`}>
            {confirm}
          </button>
        </div>
      </form>
    </dialog>
  )
}
