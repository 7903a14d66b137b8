import { Component, type ReactNode } from 'preact/compat';
import { Failure } from './notice.tsx';

/** Shows an error in place of a view that throws; navigation and the other views still work. */
export class ErrorBoundary extends Component<{ children: ReactNode }, { error: unknown }> {
  override state: { error: unknown } = { error: undefined };

  static override getDerivedStateFromError(error: unknown) {
    return { error };
  }

  // Preact does not log errors that a boundary catches.
  override componentDidCatch(error: unknown) {
    reportError(error);
  }

  override render(): ReactNode {
    const { error } = this.state;
    if (error === undefined) return this.props.children;
    return (
      <>
        <h1>This view could not be shown</h1>
        <Failure error={error} onRetry={() => this.setState({ error: undefined })} />
      </>
    );
  }
}
