/** The model whose vectors every memory is to have; its dimensions are not known before it has made one. */
export interface ModelInUse {
  number: number;
  modelId: string;
  dimensions: number | null;
}
