import { Component, type ReactNode } from 'react';
import { Failure } from './notice.tsx';

/** Says that a view failed where the page would otherwise be empty; the other views go on. */
export class LastResort extends Component<{ children: ReactNode }, { error: unknown }> {
  override state: { error: unknown } = { error: undefined };

  static getDerivedStateFromError(error: unknown) {
    return { error };
  }

  override render(): ReactNode {
    const { error } = this.state;
    if (error === undefined) return this.props.children;
    return (
      <>
        <h1>This view has failed</h1>
        <Failure error={error} onRetry={() => this.setState({ error: undefined })} />
      </>
    );
  }
}
