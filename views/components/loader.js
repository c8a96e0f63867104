const { promise } = ((globalThis.__pagewalk ??= {})[VERSION] ??= Promise.withResolvers());
export default (await promise)(NAME);
