//! The record of what is decided about the slots of a session.

use super::Slots;
use crate::recording::Recording;

impl Slots {
    /// From now on what is decided is recorded.
    pub(crate) fn record(&mut self, recording: Recording) {
        self.lending.record();
        self.recording = Some(recording);
    }

    /// Records what has been decided since this was last called.
    pub(super) fn write_down(&mut self) {
        if let Some(recording) = &mut self.recording
            && !recording.take(self.lending.take_record())
        {
            self.lending.record_no_more();
        }
    }

    /// Why the record has ended before the session.
    pub(crate) fn record_ended(&self) -> Option<&str> {
        self.recording.as_ref()?.ended()
    }

    /// Nothing more is recorded: what waits until the file has all of it. `None`: there is no record, or its end is awaited
    /// already.
    pub(crate) fn close_record(&mut self) -> Option<impl Future<Output = ()> + Send + use<>> {
        self.write_down();
        self.lending.record_no_more();
        self.recording.as_mut()?.close()
    }
}
