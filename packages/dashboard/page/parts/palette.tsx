import type { JSX } from 'preact'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { go, hrefOf } from '../router.ts'
import { icons } from './icons.tsx'

/** Something that the palette can do. */
export interface Command {
  readonly label: string
  readonly hint?: string
  readonly run: () => void
}

/** A list of everything that can be done, by typing. */
export function Palette({
  outbox,
  commands,
  close,
}: {
  outbox: string
  commands: readonly Command[]
  close: () => void
}): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null)
  const [text, setText] = useState('')
  const [chosen, setChosen] = useState(0)
  useEffect(() => dialog.current?.showModal(), [])

  const found = useMemo(() => {
    const words = text.trim().toLowerCase().split(/\s+/)
    const fitting = commands.filter(({ label }) => words.every((word) => label.toLowerCase().includes(word)))
    return [...fitting, ...searches(outbox, text.trim())]
  }, [text, commands, outbox])
  const current = Math.min(chosen, found.length - 1)
  const run = (command: Command | undefined): void => {
    close()
    command?.run()
  }

  return (
    <dialog
      ref={dialog}
      class="palette"
      aria-label="Command palette"
      onClose={close}
      onClick={(event) => event.target === dialog.current && close()}
    >
      <div class="palette-input">
        <icons.search />
        <input
          role="combobox"
          aria-label="Type a command, an event id, a type or a key"
          aria-expanded="true"
          aria-controls="palette-list"
          aria-activedescendant={found.length > 0 ? `command-${current}` : undefined}
          placeholder="Go to, or find an event by id, type or key…"
          value={text}
          onInput={(event) => {
            setText(event.currentTarget.value)
            setChosen(0)
          }}
          onKeyDown={(event) => {
            if (event.key === 'ArrowDown') setChosen(Math.min(current + 1, found.length - 1))
            else if (event.key === 'ArrowUp') setChosen(Math.max(current - 1, 0))
            else if (event.key === 'Enter') run(found[current])
            else return
            event.preventDefault()
          }}
        />
      </div>
      <ul id="palette-list" role="listbox" aria-label="Commands">
        {found.map((command, index) => (
          <li
            key={command.label}
            id={`command-${index}`}
            role="option"
            aria-selected={index === current}
            onMouseMove={() => setChosen(index)}
            onClick={() => run(command)}
          >
            <span>{command.label}</span>
            {command.hint !== undefined && <kbd>{command.hint}</kbd>}
          </li>
        ))}
      </ul>
    </dialog>
  )
}

function searches(outbox: string, text: string): readonly Command[] {
  if (text === '') return []
  const find = (name: string, what: string): Command => ({
    label: `Find events by ${what}: ${text}`,
    run: () => go(hrefOf(outbox, 'events', { [name]: text })),
  })
  return [
    find('eventId', 'id'),
    find('eventType', 'type'),
    find('orderingKey', 'ordering key'),
    find('aggregateId', 'aggregate id'),
  ]
}
