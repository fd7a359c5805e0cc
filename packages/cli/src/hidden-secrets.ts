/** Replaces passwords in texts that are shown or logged. */
export class HiddenSecrets {
  readonly #secrets = new Set<string>()

  /** Hides the passwords of this address from now on, in every form in which an error may quote them. */
  addUrl(address: string): void {
    const [, written] = /^[a-z][a-z0-9+.-]*:\/\/[^/?#:]*:(.*)@/i.exec(address) ?? []
    this.add(written)
    if (!URL.canParse(address)) return
    const url = new URL(address)
    this.add(url.password)
    for (const [name, value] of url.searchParams) if (secretName.test(name)) this.add(value)
  }

  /** Returns the text with stars in place of every password. */
  hide(text: string): string {
    let hidden = text.replace(credentials, '$1***@')
    for (const secret of this.#secrets) hidden = hidden.replaceAll(secret, '***')
    return hidden
  }

  /** Hides this text from now on, also in its decoded form. */
  add(secret: string | undefined): void {
    if (secret === undefined || secret === '') return
    this.#secrets.add(secret)
    try {
      this.#secrets.add(decodeURIComponent(secret))
    } catch {
      // It is not encoded.
    }
  }
}

const secretName = /pass|secret|token|key$/i

// The password of any address in a text, also of one that no command was told about.
const credentials = /([a-z][a-z0-9+.-]*:\/\/[^\s/:@]*:)\S*@/gi
