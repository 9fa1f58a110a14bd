// The steps of an editor, to go back and forth. A step is whatever the editor wants to come back to.

const MAX_STEPS = 1000;

/** Start a history with its first step. */
export function makeHistory(step) {
  let steps = [step];
  let now = 0;
  const go = (by) => {
    if (!steps[now + by]) return false;
    now += by;
    return true;
  };
  return {
    current: () => steps[now],
    canUndo: () => now > 0,
    canRedo: () => now < steps.length - 1,
    undo: () => go(-1),
    redo: () => go(1),
    /** Add a step; what was undone before is forgotten. */
    add(next) {
      steps = [...steps.slice(0, now + 1), next].slice(-MAX_STEPS);
      now = steps.length - 1;
    },
    /** Change the current step in place: what is selected is part of it, but no step of its own. */
    amend(changes) {
      steps[now] = { ...steps[now], ...changes };
    },
  };
}
