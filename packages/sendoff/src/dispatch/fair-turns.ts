/**
 * Decides which queue has the next turn: `hotShare` turns for the hot one, then one for the cold one. So a
 * steady stream of new events cannot starve the backlog.
 */
export function fairTurns(hotShare: number): () => 'hot' | 'cold' {
  let turn = 0
  return () => {
    turn = turn >= hotShare ? 0 : turn + 1
    return turn === 0 ? 'cold' : 'hot'
  }
}
